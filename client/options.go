// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"
)

// ProducerOption configures a Producer.
type ProducerOption interface{ applyProducer(*producerConfig) }

// ReaderOption configures a Reader.
type ReaderOption interface{ applyReader(*readerConfig) }

// ConsumerOption configures a Consumer.
type ConsumerOption interface{ applyConsumer(*consumerConfig) }

// Option configures any of them.
type Option interface {
	ProducerOption
	ReaderOption
	ConsumerOption
}

// PullOption configures whatever reads: a Reader or a Consumer.
type PullOption interface {
	ReaderOption
	ConsumerOption
}

type (
	clusterOption  func(*clusterConfig)
	producerOption func(*producerConfig)
	pullOption     func(*pullConfig)
	readerOption   func(*readerConfig)
	consumerOption func(*consumerConfig)
)

func (o clusterOption) applyProducer(c *producerConfig)  { o(&c.cluster) }
func (o clusterOption) applyReader(c *readerConfig)      { o(&c.cluster) }
func (o clusterOption) applyConsumer(c *consumerConfig)  { o(&c.cluster) }
func (o producerOption) applyProducer(c *producerConfig) { o(c) }
func (o pullOption) applyReader(c *readerConfig)         { o(&c.pull) }
func (o pullOption) applyConsumer(c *consumerConfig)     { o(&c.pull) }
func (o readerOption) applyReader(c *readerConfig)       { o(c) }
func (o consumerOption) applyConsumer(c *consumerConfig) { o(c) }

// NameServers tells where the cluster is: addresses, or texts of several separated
// by semicolons or commas; host:port, a host alone for port 9876, or the http
// address of a service that lists them. Required (RocketMQ: namesrvAddr).
func NameServers(addrs ...string) Option {
	return clusterOption(func(c *clusterConfig) { c.nameServers = append(c.nameServers, addrs...) })
}

// Logger takes what a person may want to know. Default: nothing is logged.
func Logger(logger *slog.Logger) Option {
	return clusterOption(func(c *clusterConfig) { c.logger = logger })
}

// TLS encrypts the connections to name servers and brokers.
func TLS(config *tls.Config) Option {
	return clusterOption(func(c *clusterConfig) { c.tls = config })
}

// Dialer opens the connections, for tunnels and tests. Default: TCP.
func Dialer(dial func(ctx context.Context, addr string) (net.Conn, error)) Option {
	return clusterOption(func(c *clusterConfig) { c.dial = dial })
}

// ClientIP and Instance are the two parts of the client id, which must differ between
// any two clients of a cluster. Default: an address of this host; the process id and
// a number that no other client of the process has (RocketMQ: clientIP, instanceName).
func ClientIP(ip string) Option {
	return clusterOption(func(c *clusterConfig) { c.clientIP = ip })
}

// Instance: see ClientIP.
func Instance(name string) Option {
	return clusterOption(func(c *clusterConfig) { c.instance = name })
}

// Unit is a third part of the client id (RocketMQ: unitName).
func Unit(name string) Option {
	return clusterOption(func(c *clusterConfig) { c.unit = name })
}

// RouteRefresh is how often routes are asked for again. Default 30 s (RocketMQ:
// pollNameServerInterval).
func RouteRefresh(every time.Duration) Option {
	return clusterOption(func(c *clusterConfig) { c.routeRefresh = every })
}

// HeartbeatInterval is how often brokers are told that the client lives; they forget
// it after 120 s. Default 30 s (RocketMQ: heartbeatBrokerInterval).
func HeartbeatInterval(every time.Duration) Option {
	return clusterOption(func(c *clusterConfig) { c.heartbeat = every })
}

// CallTimeout bounds a question to a name server or broker, other than sends and
// pulls. Default 3 s (RocketMQ: mqClientApiTimeout).
func CallTimeout(d time.Duration) Option {
	return clusterOption(func(c *clusterConfig) { c.callTimeout = d })
}

// StartAt is where reading begins: for a Reader, in every queue; for a Consumer, in
// queues for which its group has no progress yet. Default: Beginning for a Reader,
// Latest for a Consumer (RocketMQ: consumeFromWhere).
func StartAt(s Start) PullOption {
	return pullOption(func(c *pullConfig) { c.start = s })
}

// PullBatch is how many messages are asked for at a time; brokers have a limit of
// their own. Default 32 (RocketMQ: pullBatchSize).
func PullBatch(n int) PullOption {
	return pullOption(func(c *pullConfig) { c.batch = n })
}

// PullHold is how long a broker may hold a pull while there is nothing new. Default
// 15 s (RocketMQ: brokerSuspendMaxTimeMillis).
func PullHold(d time.Duration) PullOption {
	return pullOption(func(c *pullConfig) { c.hold = d })
}
