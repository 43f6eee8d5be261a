// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

// CheckGroupsHeader of CHECK_CONSUMER_GROUPS (Goddard's own): what is wrong with one group, or with all.
type CheckGroupsHeader struct {
	Group string `header:"group"` // "": all
}

// GroupCheck is its answer: the faults that the broker's last look at its consumer groups found.
type GroupCheck struct {
	CheckedAt int64        `json:"checkedAt"` // of the last look, ms; 0: there was none, or it is switched off
	Groups    int          `json:"groups"`    // with members
	Faults    []GroupFault `json:"faults"`
	More      int          `json:"more"` // faults that are not shown
}

// Kinds of fault, which are also labels of the metric.
const (
	FaultUnequalSubscriptions = "unequal_subscriptions"
	FaultSharedClientID       = "shared_client_id"
	FaultUnconsumedQueue      = "unconsumed_queue"
	FaultStuckMember          = "stuck_member"
)

// FaultKinds are all of them.
var FaultKinds = [...]string{FaultUnequalSubscriptions, FaultSharedClientID, FaultUnconsumedQueue, FaultStuckMember}

// GroupFault is something that is wrong with a consumer group.
type GroupFault struct {
	Kind     string   `json:"kind"`
	Group    string   `json:"group"`
	Topic    string   `json:"topic,omitempty"`
	Queues   []int32  `json:"queues,omitempty"`
	Clients  []string `json:"clients,omitempty"` // that have it, or that caused it
	Addrs    []string `json:"addrs,omitempty"`   // of a shared client id
	Waiting  int64    `json:"waiting"`           // messages, in those queues
	Since    int64    `json:"since"`             // ms
	LastPull int64    `json:"lastPull"`          // of those queues by the group, ms; 0: not known
	Text     string   `json:"text"`              // for people
}
