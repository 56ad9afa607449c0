# SPDX-License-Identifier: Apache-2.0
# Memory against the length, both on logarithmic scales, between the tensors themselves and the matrix of scores.
load folder."style.gp"
set title "Memory of the whole process at its peak: one head, D = 64, as many rows as keys"
set xlabel "rows and keys"
set logscale x 2
set logscale y 10
mebibytes(bytes) = bytes / 1024.0 / 1024.0
do for [i = 1:2] {
    @set_format
    plot for [c = 2:columns + 1] $data using 1:c with linespoints pt 7 ps 0.7 lw 2 lc rgb color(c - 1) title columnheader(c), \
        $data using 1:(column(columns + 2)) with lines dt 2 lw 2 lc rgb color(1) title "our workspace", \
        $data using 1:(mebibytes(4.0 * $1 * $1)) with lines dt 2 lc rgb "black" title "all scores in f32", \
        $data using 1:(mebibytes(4.0 * 4 * 64 * $1)) with lines dt 3 lc rgb "black" title "q, k, v and o in f32"
}
