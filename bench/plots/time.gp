# SPDX-License-Identifier: Apache-2.0
# Time against the length, both on logarithmic scales.
load folder."style.gp"
set title "Time against the length: one head, D = 64, as many rows as keys"
set xlabel "rows and keys"
set logscale x 2
set logscale y 10
set xrange [*:*] noextend
do for [i = 1:2] {
    @set_format
    plot for [c = 2:columns + 1] $data using 1:c with linespoints pt 7 ps 0.7 lw 2 lc rgb color(c - 1) title columnheader(c)
}
