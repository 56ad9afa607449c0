# SPDX-License-Identifier: Apache-2.0
# Bars for each shape, below the line of what the machine can do at best.
set style data histograms
set style histogram clustered gap 1
set style fill solid noborder
set boxwidth 0.9
set xtics scale 0
set yrange [0:top * 1.08]
do for [i = 1:2] {
    @set_format
    plot for [c = 2:columns + 1] $data using c:xtic(1) title columnheader(c) lc rgb color(c - 1), \
        top with lines lw 2 lc rgb "black" title top_title
}
