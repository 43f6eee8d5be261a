// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package nameserver tells clients who serves which topic.
//
// Brokers register with every name server; name servers do not know each other
// and keep nothing on disk but the key-value settings, so a restarted one knows
// everything again once each broker has registered (at most a minute).
//
// The route table is the pure core: registrations, departures and time go in,
// routes come out. Handlers translate requests into calls of it. Expiry feeds it
// the registrations whose broker has fallen silent or hung up.
//
// Words: a broker name is shared by a master (id 0) and its slaves; each of them
// has an address of its own. A registration belongs to one address in one cluster
// and holds until it expires, its connection closes or the broker unregisters. A
// departure is the end of a registration. An acting master is the slave with the
// smallest id, shown as id 0 for reading while there is no master.
//
// RocketMQ: namesrv; RouteInfoManager is the route table, KVConfigManager the
// key-value settings, BatchUnregistrationService the departures.
package nameserver
