// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package stats counts what a broker stores and hands out, by topic and group, and
// says how much that was in the last minute, hour and day.
//
// A counter only grows; samples of it every ten seconds, ten minutes and hour make
// the windows. Two samples make a rate, so a counter that just came to be has none.
//
// RocketMQ: BrokerStatsManager, StatsItem, BrokerStats (totals at midnight), and the
// rates of StoreStatsService.
package stats
