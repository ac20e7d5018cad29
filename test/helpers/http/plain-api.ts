/** The whole daemon with a REST listener without TLS on loopback, for client libraries that trust no test certificate. */
import type { Test } from 'tap'
import { type TestDaemon, type TestDaemonOptions, testDaemon } from '../daemon/test-daemon.js'
import { openSink, type ScriptedSink, type SinkScript } from '../smtp/scripted-sink.js'

export interface PlainApi {
  readonly app: TestDaemon
  /** Receives the mail for `b.test`. */
  readonly sink: ScriptedSink
  /** `127.0.0.1` and the port. */
  readonly host: string
}

interface PlainApiOptions extends Pick<TestDaemonOptions, 'folder' | 'settings'> {
  readonly script?: SinkScript
}

/** `api` are settings of that section. */
export async function openPlainApi(
  t: Test,
  api: Readonly<Record<string, unknown>> = {},
  { script = {}, ...options }: PlainApiOptions = {},
): Promise<PlainApi> {
  const sink = await openSink({ script })
  t.teardown(() => sink.close())
  const listen = ['127.0.0.1:0', 'http://127.0.0.1:0']
  const settings = { ...options.settings, api: { listen, ...api } }
  const app = await testDaemon(t, { ...options, routes: { 'b.test': sink }, settings })
  const endpoint = app.daemon.api.find(({ kind }) => kind === 'http')
  if (endpoint === undefined || endpoint.kind === 'unix') throw new Error('the daemon has no listener without TLS')
  return { app, sink, host: `127.0.0.1:${endpoint.port}` }
}
