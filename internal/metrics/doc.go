// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package metrics serves what the rooms declare.
//
// A room declares its metrics in a metrics.go of its own, on the Registerer it is
// given; this package makes the registry of the process, the labels that all
// metrics of a role share, and the page that Prometheus reads. Names and labels of
// a broker's metrics are RocketMQ's (BrokerMetricsManager).
package metrics
