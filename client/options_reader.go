// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

// ReadGroup is the group in whose name a Reader asks, and whose progress Commit
// stores. Default TOOLS_CONSUMER, which brokers always know.
func ReadGroup(group string) ReaderOption {
	return readerOption(func(c *readerConfig) { c.group = group })
}

// ReadFilter chooses among the messages. Default: all of them.
func ReadFilter(f Filter) ReaderOption {
	return readerOption(func(c *readerConfig) { c.filter = f })
}

// ReadQueues reads only these queues. Default: all that the topic has, also those it
// gets later.
func ReadQueues(queues ...Queue) ReaderOption {
	return readerOption(func(c *readerConfig) { c.queues = append(c.queues, queues...) })
}

// UntilEnd reads what was there when reading began; then Poll gives io.EOF.
func UntilEnd() ReaderOption {
	return readerOption(func(c *readerConfig) { c.untilEnd = true })
}
