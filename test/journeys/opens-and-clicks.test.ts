/** Opens and clicks through the whole daemon: requests of mail clients and scanners, and what becomes of them. */
import t, { type Test } from 'tap'
import type { Timestamp } from '../../src/storage/tables/columns.js'
import { type TestDaemon, type TestDaemonOptions, testDaemon } from '../helpers/daemon/test-daemon.js'
import { openWire, request, type Wire, type WireAnswer } from '../helpers/http/wire.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'
