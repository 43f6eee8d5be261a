// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import "time"

// ProducerGroup names the producers that send the same messages. Default
// DEFAULT_PRODUCER.
func ProducerGroup(group string) ProducerOption {
	return producerOption(func(c *producerConfig) { c.group = group })
}

// SendTimeout bounds a send with all its tries. An earlier deadline of the context
// counts, too. Default 3 s (RocketMQ: sendMsgTimeout).
func SendTimeout(d time.Duration) ProducerOption {
	return producerOption(func(c *producerConfig) { c.sendTimeout = d })
}

// TryTimeout bounds each try but the last, so that a broker that hangs does not use
// up the whole SendTimeout. A message whose try was given up may be stored
// nevertheless, and is then stored twice. Default 0, which is no bound of its own
// (RocketMQ: sendMsgMaxTimeoutPerRequest).
func TryTimeout(d time.Duration) ProducerOption {
	return producerOption(func(c *producerConfig) { c.tryTimeout = d })
}

// SendRetries is how many more tries a Send or SendBatch has, each at another broker
// if there is one. Default 2 (RocketMQ: retryTimesWhenSendFailed).
func SendRetries(n int) ProducerOption {
	return producerOption(func(c *producerConfig) { c.retries = n })
}

// AsyncSendRetries is how many more tries SendAsync has when the way to a broker
// fails; an answer is never tried again. Default 2 (RocketMQ:
// retryTimesWhenSendAsyncFailed).
func AsyncSendRetries(n int) ProducerOption {
	return producerOption(func(c *producerConfig) { c.asyncRetries = n })
}

// RetryNotStored makes a status other than Stored a reason to try another broker. The
// message may then exist twice (RocketMQ: retryAnotherBrokerWhenNotStoreOK).
func RetryNotStored() ProducerOption {
	return producerOption(func(c *producerConfig) { c.retryNotStored = true })
}

// CompressOver compresses bodies of that many bytes and more when they get smaller by
// it; batches never. Default 4096 (RocketMQ: compressMsgBodyOverHowmuch).
func CompressOver(bytes int) ProducerOption {
	return producerOption(func(c *producerConfig) { c.compressOver = bytes })
}

// MaxMessageBytes refuses larger bodies before they are sent. Brokers have a limit of
// their own. Default 4 MiB (RocketMQ: maxMessageSize).
func MaxMessageBytes(n int) ProducerOption {
	return producerOption(func(c *producerConfig) { c.maxBytes = n })
}

// TopicTemplate is the topic whose settings a topic gets that does not exist when a
// message is sent to it; "" means never to create one. Default TBW102 (RocketMQ:
// createTopicKey).
func TopicTemplate(topic string) ProducerOption {
	return producerOption(func(c *producerConfig) { c.template = topic })
}

// NewTopicQueues is how many queues such a topic gets at most. Default 4 (RocketMQ:
// defaultTopicQueueNums).
func NewTopicQueues(n int) ProducerOption {
	return producerOption(func(c *producerConfig) { c.templateQueues = n })
}

// AvoidSlowBrokers leaves out brokers for a while that failed or took long to answer
// (RocketMQ: sendLatencyFaultEnable).
func AvoidSlowBrokers() ProducerOption {
	return producerOption(func(c *producerConfig) { c.avoidSlow = true })
}

// MaxInFlight bounds how many SendAsync may wait for their answers; more of them wait
// their turn. Default 1024 (RocketMQ: backPressureForAsyncSendNum).
func MaxInFlight(n int) ProducerOption {
	return producerOption(func(c *producerConfig) { c.inFlight = n })
}
