# SPDX-License-Identifier: Apache-2.0
# What all pictures share. driver/plots.c sets name, unit, top, threads, columns, colors and $data.
reset
set datafile missing "?"
set border 3 lc rgb "#555555"
set tics nomirror
set grid ytics lc rgb "#dddddd"
set key outside right top Left reverse samplen 1.5
set ylabel unit
color(i) = word(colors, i)
of_threads = sprintf("%d thread%s", threads, threads == 1 ? "" : "s")

# Each script draws twice: for i in two formats, set_format, then plot.
set_format = 'if (i == 1) { set terminal pngcairo size 960,420 fontscale 0.9; set output name.".png" } else { set terminal svg size 960,420 dynamic enhanced background rgb "white" font "sans,13"; set output name.".svg" }'
