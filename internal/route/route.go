// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package route

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// Route is where one topic lives. It is never changed; a refresh makes a new one.
type Route struct {
	Topic string
	// Brokers that have the topic, sorted by name.
	Brokers []Broker
	// Write are the queues that take messages: of brokers with a master and write
	// permission, or exactly those of the ordered-topic configuration.
	Write []protocol.MessageQueue
	// Read are the queues that can be read. Both are sorted.
	Read []protocol.MessageQueue
	// Ordered tells that the name server fixes the queues of the topic.
	Ordered bool
	// Template tells that the topic does not exist and this is what it would become
	// when a message is sent to it (RocketMQ: createTopicKey).
	Template bool
}

// Broker is the brokers of one name.
type Broker struct {
	Cluster, Name string
	Addrs         map[int64]string // by id; 0 is the master
}

// Master gives the address that takes writes, "" when there is none.
func (b Broker) Master() string { return b.Addrs[protocol.MasterID] }

// Addr gives the address of the given id, else the master's, else that of the
// smallest id, "" when there is none at all.
func (b Broker) Addr(id int64) string {
	if addr := b.Addrs[id]; addr != "" {
		return addr
	}
	if addr := b.Master(); addr != "" {
		return addr
	}
	if len(b.Addrs) == 0 {
		return ""
	}
	return b.Addrs[slices.Min(slices.Collect(maps.Keys(b.Addrs)))]
}

func (b Broker) equal(o Broker) bool {
	return b.Cluster == o.Cluster && b.Name == o.Name && maps.Equal(b.Addrs, o.Addrs)
}

// maxQueues bounds what is believed of one broker's queue count.
const maxQueues = 65536

// New makes the route of topic out of a name server's answer.
func New(topic string, data *protocol.TopicRouteData) *Route {
	r := &Route{Topic: topic, Ordered: data.OrderTopicConf != ""}
	for _, b := range data.BrokerDatas {
		r.Brokers = append(r.Brokers, Broker{Cluster: b.Cluster, Name: b.BrokerName, Addrs: maps.Clone(b.BrokerAddrs)})
	}
	slices.SortFunc(r.Brokers, func(a, b Broker) int { return cmp.Compare(a.Name, b.Name) })
	for _, q := range data.QueueDatas {
		if protocol.CanRead(q.Perm) {
			r.Read = appendQueues(r.Read, topic, q.BrokerName, q.ReadQueueNums)
		}
		if b, ok := r.Broker(q.BrokerName); ok && b.Master() != "" && protocol.CanWrite(q.Perm) && !r.Ordered {
			r.Write = appendQueues(r.Write, topic, q.BrokerName, q.WriteQueueNums)
		}
	}
	if r.Ordered {
		r.Write = orderedQueues(topic, data.OrderTopicConf)
	}
	slices.SortFunc(r.Read, protocol.MessageQueue.Compare)
	slices.SortFunc(r.Write, protocol.MessageQueue.Compare)
	return r
}

func appendQueues(queues []protocol.MessageQueue, topic, broker string, n int32) []protocol.MessageQueue {
	for id := range min(n, maxQueues) {
		queues = append(queues, protocol.MessageQueue{Topic: topic, BrokerName: broker, QueueID: id})
	}
	return queues
}

// orderedQueues reads "broker:queues;broker:queues". Parts that say nothing are left out.
func orderedQueues(topic, conf string) []protocol.MessageQueue {
	var queues []protocol.MessageQueue
	for part := range strings.SplitSeq(conf, ";") {
		broker, number, ok := strings.Cut(strings.TrimSpace(part), ":")
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 32)
		if !ok || broker == "" || err != nil {
			continue
		}
		queues = appendQueues(queues, topic, broker, int32(n))
	}
	return queues
}

// Broker finds a broker of the topic by name.
func (r *Route) Broker(name string) (Broker, bool) {
	for _, b := range r.Brokers {
		if b.Name == name {
			return b, true
		}
	}
	return Broker{}, false
}

// Equal tells whether two routes lead to the same places.
func (r *Route) Equal(o *Route) bool {
	if r == nil || o == nil {
		return r == o
	}
	return r.Topic == o.Topic && r.Ordered == o.Ordered && r.Template == o.Template &&
		slices.Equal(r.Write, o.Write) && slices.Equal(r.Read, o.Read) &&
		slices.EqualFunc(r.Brokers, o.Brokers, Broker.equal)
}

// asTemplate makes of the route of the template topic what topic would get: at each
// broker as many queues as the template has for reading, at most n.
func asTemplate(topic string, template *protocol.TopicRouteData, n int32) *Route {
	data := *template
	data.OrderTopicConf = ""
	data.QueueDatas = slices.Clone(template.QueueDatas)
	for i := range data.QueueDatas {
		q := &data.QueueDatas[i]
		q.ReadQueueNums = min(n, q.ReadQueueNums)
		q.WriteQueueNums = q.ReadQueueNums
	}
	r := New(topic, &data)
	r.Template = true
	return r
}
