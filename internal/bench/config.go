// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package bench

import (
	"errors"
	"fmt"
	"time"
)

// Target is what the load is put on.
type Target struct {
	NameServers []string // HOST:PORT; asked where the topic is
	Broker      string   // HOST:PORT; when set, this broker gets all of the load and no name server is asked
	Topic       string
	Queues      int  // per broker, when the topic has to be created
	Connections int  // in all, spread over the brokers
	Binary      bool // compact headers instead of JSON
	// Duration of the measurement, WarmUp of the load before it. With Duration 0
	// the load goes on until the context ends.
	Duration time.Duration
	WarmUp   time.Duration
	Progress time.Duration // between two lines; 0: none
}

// ProduceConfig of a producing load.
type ProduceConfig struct {
	Target
	Group      string
	Depth      int     // requests in flight per connection
	Size       int     // bytes of a body
	Batch      int     // messages per request
	Rate       float64 // messages per second over all connections; 0: closed loop, as fast as answers come
	Keys       int     // distinct values of KEYS; 0: no such property
	Tags       int     // distinct values of TAGS; 0: no such property
	Properties int     // further properties of some 15 bytes each
	NoWait     bool    // WAIT=false: answered before the disk has it
}

// ConsumeConfig of a consuming load.
type ConsumeConfig struct {
	Target
	Group    string
	Follow   bool          // begin at the end of each queue and wait for news; else at its beginning
	UntilEnd bool          // stop when every queue was read up to where it ended at the start
	Max      int           // messages per pull
	Hold     time.Duration // how long the broker may hold a pull that finds nothing
}

// Limits that keep a mistyped flag from taking the machine.
const (
	maxConnections = 100_000
	maxDepth       = 1 << 16
	maxBodyBytes   = 16 << 20
)

func defaultTarget() Target {
	return Target{Topic: "goddard-bench", Queues: 8, Connections: 4, Duration: 10 * time.Second, WarmUp: time.Second, Progress: time.Second}
}

// DefaultProduceConfig is 4 connections with 32 requests of 1 KiB in flight each, as fast as answers come.
func DefaultProduceConfig() ProduceConfig {
	return ProduceConfig{Target: defaultTarget(), Group: "goddard-bench-producer", Depth: 32, Size: 1024, Batch: 1, Tags: 1, Keys: 1000}
}

// DefaultConsumeConfig reads all queues from their beginning.
func DefaultConsumeConfig() ConsumeConfig {
	return ConsumeConfig{Target: defaultTarget(), Group: "goddard-bench-consumer", Max: 32, Hold: 15 * time.Second}
}

// faults gathers what is wrong with a configuration.
type faults []error

func (f *faults) check(ok bool, format string, a ...any) {
	if !ok {
		*f = append(*f, fmt.Errorf(format, a...))
	}
}

func (c *Target) validate(f *faults) {
	f.check(c.Broker != "" || len(c.NameServers) > 0, "neither name servers nor a broker given")
	f.check(c.Topic != "", "no topic given")
	f.check(c.Queues > 0, "%d queues: at least 1 is needed", c.Queues)
	f.check(c.Connections > 0 && c.Connections <= maxConnections, "%d connections: 1 to %d are possible", c.Connections, maxConnections)
	f.check(c.Duration >= 0 && c.WarmUp >= 0, "times must not be negative")
}

// Validate reports every fault at once.
func (c *ProduceConfig) Validate() error {
	var f faults
	c.validate(&f)
	f.check(c.Depth > 0 && c.Depth <= maxDepth, "depth %d: 1 to %d are possible", c.Depth, maxDepth)
	f.check(c.Size >= 0 && c.Size <= maxBodyBytes, "size %d: 0 to %d bytes are possible", c.Size, maxBodyBytes)
	f.check(c.Batch > 0 && c.Batch*max(c.Size, 1) <= maxBodyBytes, "batch %d: 1 to as many as make %d bytes are possible", c.Batch, maxBodyBytes)
	f.check(c.Rate >= 0, "rate %v must not be negative", c.Rate)
	f.check(c.Keys >= 0 && c.Tags >= 0 && c.Properties >= 0, "numbers of keys, tags and properties must not be negative")
	f.check(c.Tags <= maxTags, "%d tags: at most %d are possible", c.Tags, maxTags)
	return errors.Join(f...)
}

// Validate reports every fault at once.
func (c *ConsumeConfig) Validate() error {
	var f faults
	c.validate(&f)
	f.check(c.Max > 0, "%d messages per pull: at least 1 is needed", c.Max)
	f.check(c.Hold >= 0, "hold must not be negative")
	f.check(!c.Follow || !c.UntilEnd, "following and stopping at the end exclude each other")
	return errors.Join(f...)
}
