// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package segment keeps a long run of bytes in files of one size, each named by the offset of its first byte.
//
// Files is one such run: it grows by files at its end and loses files at its beginning; offsets never start anew.
// All files take their final size when they are created; what was not written reads as zero. Handles bounds how many
// files are open at once, over all runs that share it.
//
// RocketMQ: MappedFileQueue and MappedFile, without the mapping. A file that was removed while somebody reads stays
// readable for that reader.
package segment
