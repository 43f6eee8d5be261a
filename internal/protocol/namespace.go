// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

import "strings"

// namespaceSeparator stands between namespace and name.
const namespaceSeparator = "%"

// Namespaces are the client's affair: it writes them before names, "ns%topic", "%RETRY%ns%group",
// and the broker sees plain names (RocketMQ: NamespaceUtil).

// WrapNamespace puts namespace before name. Names that carry it already and those of the system stay as they are.
func WrapNamespace(namespace, name string) string {
	if namespace == "" || name == "" || IsSystemName(name) {
		return name
	}
	prefix, bare := splitPrefix(name)
	if strings.HasPrefix(bare, namespace+namespaceSeparator) {
		return name
	}
	return prefix + namespace + namespaceSeparator + bare
}

// WithoutNamespace takes any namespace away.
func WithoutNamespace(name string) string {
	if name == "" || IsSystemName(name) {
		return name
	}
	prefix, bare := splitPrefix(name)
	if i := strings.Index(bare, namespaceSeparator); i > 0 {
		bare = bare[i+1:]
	}
	return prefix + bare
}

// WithoutGivenNamespace takes that namespace away, no other.
func WithoutGivenNamespace(namespace, name string) string {
	if namespace == "" {
		return name
	}
	prefix, bare := splitPrefix(name)
	return prefix + strings.TrimPrefix(bare, namespace+namespaceSeparator)
}

// NamespaceOf gives the namespace that name carries, "" for none.
func NamespaceOf(name string) string {
	if IsSystemName(name) {
		return ""
	}
	_, bare := splitPrefix(name)
	if i := strings.Index(bare, namespaceSeparator); i > 0 {
		return bare[:i]
	}
	return ""
}

// WithoutRetryAndDLQ takes the prefix of a retry or dead-letter topic away.
func WithoutRetryAndDLQ(name string) string {
	_, bare := splitPrefix(name)
	return bare
}

// IsSystemName tells whether name is a topic or group of the system, which no namespace holds.
func IsSystemName(name string) bool { return IsSystemTopic(name) || IsSystemGroup(name) }

func splitPrefix(name string) (prefix, bare string) {
	for _, p := range [...]string{RetryPrefix, DeadLetterPrefix} {
		if strings.HasPrefix(name, p) {
			return p, name[len(p):]
		}
	}
	return "", name
}
