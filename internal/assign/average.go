// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package assign

import "slices"

// Average gives each member a run of neighbouring queues; the first members get
// one more when it does not come out even (RocketMQ: AllocateMessageQueueAveragely).
//
//	8 queues, 3 members:  0 1 2 | 3 4 5 | 6 7
//	2 queues, 3 members:  0 | 1 |
type Average struct{}

// Name of the strategy.
func (Average) Name() string { return NameAverage }

// Share of self.
func (Average) Share(self string, queues []Queue, members []string) []Queue {
	i := slices.Index(members, self)
	if i < 0 {
		return nil
	}
	each, rest := len(queues)/len(members), len(queues)%len(members)
	start := i*each + min(i, rest)
	end := start + each
	if i < rest {
		end++
	}
	return slices.Clone(queues[start:end])
}

// AverageByCircle deals the queues out one by one, as cards are dealt (RocketMQ:
// AllocateMessageQueueAveragelyByCircle).
//
//	8 queues, 3 members:  0 3 6 | 1 4 7 | 2 5
type AverageByCircle struct{}

// Name of the strategy.
func (AverageByCircle) Name() string { return NameAverageByCircle }

// Share of self.
func (AverageByCircle) Share(self string, queues []Queue, members []string) []Queue {
	i := slices.Index(members, self)
	if i < 0 {
		return nil
	}
	var share []Queue
	for ; i < len(queues); i += len(members) {
		share = append(share, queues[i])
	}
	return share
}

// Config gives every member the same fixed queues, whatever the topic has
// (RocketMQ: AllocateMessageQueueByConfig).
type Config struct{ Queues []Queue }

// Name of the strategy.
func (Config) Name() string { return NameConfig }

// Share is the configured list, whoever asks.
func (c Config) Share(string, []Queue, []string) []Queue { return slices.Clone(c.Queues) }

var (
	_ Strategy = Average{}
	_ Strategy = AverageByCircle{}
	_ Strategy = Config{}
)
