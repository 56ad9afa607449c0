# SPDX-License-Identifier: Apache-2.0
# Speed against the number of threads, beside what the machine could do if it did on each what it does on one.
load folder."style.gp"
set title "Speed against the number of threads: 8 heads, 2048 rows and keys, D = 128"
set xlabel "threads"
set xtics 1
set yrange [0:*]
do for [i = 1:2] {
    @set_format
    plot for [c = 2:columns + 1] $data using 1:c with linespoints pt 7 ps 0.7 lw 2 lc rgb color(c - 1) title columnheader(c), \
        $data using 1:(top * $1) with lines lw 2 lc rgb "black" title "multiply-adds in registers"
}
