/** Exports of a test daemon whose emails are delivered to `b.test` and bounce at `gone.test`. */
import { parse } from 'csv-parse/sync'
import type { Test } from 'tap'
import { type TestDaemon, testDaemon } from '../../helpers/daemon/test-daemon.js'
import { openSink } from '../../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../../helpers/wait-until.js'

export const types = ['email_logs', 'bounces', 'suppressions', 'opens'] as const
export type Type = (typeof types)[number]

interface Listed {
  readonly export_id: string
  readonly status: string
  readonly download_url: string | null
  readonly expires_at: string | null
  readonly rows: number
  readonly progress: number
  readonly error: string | null
}

export async function startExports(t: Test): Promise<TestDaemon> {
  const sink = await openSink()
  const refusing = await openSink({ script: { rcpt: '550 5.1.1 =HYPERLINK("http://x.test") "no" such user' } })
  t.teardown(() => Promise.all([sink.close(), refusing.close()]))
  return testDaemon(t, { routes: { 'b.test': sink, 'gone.test': refusing } })
}

const today = (app: TestDaemon): string => new Date(app.now()).toISOString().slice(0, 10)

export async function requestExport(app: TestDaemon, type: Type, more: object = {}): Promise<string> {
  const day = new Date(app.now() - 86_400_000).toISOString().slice(0, 10)
  const answer = await app.rest('POST', '/v1/exports', { body: { type, from_date: day, to_date: today(app), ...more } })
  if (answer.status !== 202) throw new Error(answer.text)
  return answer.json<{ readonly data: { readonly export_id: string } }>().data.export_id
}

export async function listed(app: TestDaemon, id: string): Promise<Listed | undefined> {
  const { data } = (await app.rest('GET', '/v1/exports')).json<{ readonly data: readonly Listed[] }>()
  return data.find(({ export_id }) => export_id === id)
}

export const finished = (app: TestDaemon, id: string): Promise<Listed> =>
  waitUntil(`${id} is finished`, async () => {
    const found = await listed(app, id)
    return found !== undefined && found.status !== 'processing' && found
  })

export async function exportRows(
  app: TestDaemon,
  type: Type,
  more: object = {},
): Promise<readonly Record<string, string>[]> {
  const id = await requestExport(app, type, more)
  const { status, rows } = await finished(app, id)
  const answer = await app.rest('GET', `/v1/exports/${id}/download`)
  const found = parse(answer.text, { columns: true, record_delimiter: '\r\n' }) as Record<string, string>[]
  if (status !== 'completed' || found.length !== rows) throw new Error(`${status}, ${found.length} of ${rows} rows`)
  return found
}

export async function send(app: TestDaemon, more: object): Promise<string> {
  const body = { from: 'app@a.test', to: 'bob@b.test', subject: 's', text: 't', ...more }
  const answer = await app.rest('POST', '/v1/emails', { body })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json<{ readonly id: string }>().id
}
