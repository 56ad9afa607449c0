# SPDX-License-Identifier: Apache-2.0
load folder."style.gp"
set title "Decoding: one row, D = 128, ".of_threads
top_title = "plain reading of memory"
load folder."bars.gp"
