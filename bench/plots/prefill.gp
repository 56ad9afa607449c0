# SPDX-License-Identifier: Apache-2.0
load folder."style.gp"
set title "Attention of many rows, ".of_threads
top_title = "multiply-adds in registers"
load folder."bars.gp"
