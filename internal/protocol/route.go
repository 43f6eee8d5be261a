// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

// RouteRequest is the header of GET_ROUTEINFO_BY_TOPIC (105), answered by a TopicRouteData or TOPIC_NOT_EXIST.
type RouteRequest struct {
	Topic string `header:"topic"`
	// AcceptStandardJSONOnly asks for legal JSON whatever the sender's version is.
	AcceptStandardJSONOnly bool `header:"acceptStandardJsonOnly,omitempty"`
	// ZoneMode and ZoneName leave out brokers of other zones as long as their master is there.
	ZoneMode bool   `header:"__ZONE_MODE,omitempty"`
	ZoneName string `header:"__ZONE_NAME,omitempty"`
}
