// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are read from Info when they are collected. Names that RocketMQ has are RocketMQ's.
var metrics = []struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*Info) float64
}{
	{desc("rocketmq_storage_size", "Bytes of the commit log, from its first file to its end."), prometheus.GaugeValue,
		func(i *Info) float64 { return float64(i.LogMax - i.LogMin) }},
	{desc("rocketmq_storage_flush_behind_bytes", "Bytes that are written but not durable."), prometheus.GaugeValue,
		func(i *Info) float64 { return float64(i.LogMax - i.Flushed) }},
	{desc("rocketmq_storage_dispatch_behind_bytes", "Bytes that are readable but not in their queues."), prometheus.GaugeValue,
		func(i *Info) float64 { return float64(i.DispatchBehind) }},
	{desc("rocketmq_storage_message_reserve_time", "Age of the oldest message, milliseconds."), prometheus.GaugeValue,
		func(i *Info) float64 {
			if i.EarliestTimestamp < 0 {
				return 0
			}
			return float64(time.Since(time.UnixMilli(i.EarliestTimestamp)).Milliseconds())
		}},
	{desc("goddard_store_index_behind_bytes", "Bytes that are readable but not in the key index."), prometheus.GaugeValue,
		func(i *Info) float64 { return float64(i.IndexBehind) }},
	{desc("goddard_store_appended_messages_total", "Messages appended."), prometheus.CounterValue,
		func(i *Info) float64 { return float64(i.Appended) }},
	{desc("goddard_store_appended_bytes_total", "Bytes of records appended."), prometheus.CounterValue,
		func(i *Info) float64 { return float64(i.AppendedBytes) }},
	{desc("goddard_store_refused_appends_total", "Appends that were refused."), prometheus.CounterValue,
		func(i *Info) float64 { return float64(i.Failed) }},
	{desc("goddard_store_reads_total", "Reads of queues."), prometheus.CounterValue,
		func(i *Info) float64 { return float64(i.Gets) }},
	{desc("goddard_store_read_messages_total", "Messages read from queues."), prometheus.CounterValue,
		func(i *Info) float64 { return float64(i.Transferred) }},
	{desc("goddard_store_damaged_reads_total", "Messages and entries of queues that reads left out because they are damaged."), prometheus.CounterValue,
		func(i *Info) float64 { return float64(i.Damaged) }},
	{desc("goddard_store_disk_used_ratio", "Part of the log's file system in use, 0 to 1."), prometheus.GaugeValue,
		func(i *Info) float64 { return i.DiskUsedRatio }},
	{desc("goddard_store_writable", "1 when messages are accepted."), prometheus.GaugeValue,
		func(i *Info) float64 {
			if i.Writable != nil {
				return 0
			}
			return 1
		}},
}

func desc(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }

// collector shows the store's Info to Prometheus.
type collector struct{ s *Store }

func (c collector) Describe(out chan<- *prometheus.Desc) {
	for _, m := range metrics {
		out <- m.desc
	}
}

func (c collector) Collect(out chan<- prometheus.Metric) {
	info := c.s.Info()
	for _, m := range metrics {
		out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(&info))
	}
}

func (s *Store) register() {
	if s.deps.Metrics == nil {
		return
	}
	if err := s.deps.Metrics.Register(collector{s}); err != nil {
		s.logger.Warn("the store's metrics are not shown", "err", err)
	}
}

func (s *Store) unregister() {
	if s.deps.Metrics != nil {
		s.deps.Metrics.Unregister(collector{s})
	}
}
