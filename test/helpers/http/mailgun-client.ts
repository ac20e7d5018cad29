/** Mailgun's own client library at a daemon without TLS. */
import Mailgun from 'mailgun.js'
import type { Test } from 'tap'
import type { SinkScript } from '../smtp/scripted-sink.js'
import { openPlainApi, type PlainApi } from './plain-api.js'

type MailgunClient = ReturnType<Mailgun['client']>

interface MailgunApi extends PlainApi {
  readonly client: MailgunClient
  /** The client of another key. */
  readonly connect: (key: string) => MailgunClient
}

export async function openMailgun(t: Test, script: SinkScript = {}): Promise<MailgunApi> {
  const api = await openPlainApi(t, {}, { script })
  const library = new Mailgun(FormData)
  const connect = (key: string): MailgunClient => {
    return library.client({ username: 'api', key, url: `http://${api.host}` })
  }
  return { ...api, connect, client: connect(api.app.key) }
}

/** The library keeps the text of an error in `details`. */
export async function failsWith(
  t: Test,
  asked: Promise<unknown>,
  wanted: { readonly status?: number; readonly details?: string | RegExp },
  message?: string,
): Promise<void> {
  const error = await asked.then(
    () => null,
    (rejected: unknown) => rejected,
  )
  t.match(error, { type: 'MailgunAPIError', ...wanted }, message ?? String(wanted.details))
}
