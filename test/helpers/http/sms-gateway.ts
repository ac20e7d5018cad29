/**
 * A gateway on loopback that speaks Twilio's Messages API: stores the messages that it takes over.
 *
 * Numbers that end in 98 are refused, and requests for those that end in 99 are never answered, unless a test decides.
 */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'

interface GatewayMessage {
  /** The id that the gateway gave it. */
  readonly sid: string
  readonly to: string
  readonly from: string
  readonly body: string
  /** Where receipts go. */
  readonly statusCallback: string
  readonly authorization: string
}

type Treatment = 'accept' | 'refuse' | 'ignore'

export interface SmsGateway {
  /** The endpoint: `sms.http.url`. */
  readonly url: string
  /** Accepted, in the order of arrival. */
  readonly messages: readonly GatewayMessage[]
  /** Numbers of requests that were not answered. */
  readonly unanswered: readonly string[]
  /** The newest code that was sent to the number; undefined: none. */
  readonly codeFor: (phone: string) => string | undefined
  /** How it treats all numbers from now on. */
  readonly treat: (how: Treatment) => void
}

/** `onMessage`: called before the message is taken over. */
export async function openSmsGateway(
  t: Test,
  onMessage: (message: GatewayMessage) => void = () => undefined,
): Promise<SmsGateway> {
  const messages: GatewayMessage[] = []
  const unanswered: string[] = []
  let treatment: Treatment | null = null
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const form = new URLSearchParams(body)
      const field = (name: string): string => form.get(name) ?? ''
      const to = field('To')
      const how = treatment ?? treatmentOf(to)
      if (how === 'ignore') {
        unanswered.push(to)
        return
      }
      if (how === 'refuse') {
        sendJson(response, 400, {
          code: 21_614,
          message: `'To' number: ${to} is not a valid mobile number`,
          status: 400,
        })
        return
      }
      const sid = `SM${String(messages.length).padStart(32, '0')}`
      const message = {
        ...{ sid, to, from: field('From'), body: field('Body'), statusCallback: field('StatusCallback') },
        authorization: request.headers.authorization ?? '',
      }
      onMessage(message)
      messages.push(message)
      sendJson(response, 201, { sid, status: 'queued', to, from: message.from, error_code: null, error_message: null })
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/2010-04-01/Accounts/AC1/Messages.json`,
    messages,
    unanswered,
    treat: (how) => {
      treatment = how
    },
    codeFor: (phone) => codeIn(messages.findLast(({ to }) => to === phone)?.body),
  }
}

function treatmentOf(phone: string): Treatment {
  if (phone.endsWith('98')) return 'refuse'
  return phone.endsWith('99') ? 'ignore' : 'accept'
}

/** The code in a text that has no other number of four digits or more. */
export function codeIn(body: string | undefined): string | undefined {
  return body === undefined ? undefined : /\d{4,8}/.exec(body)?.[0]
}

/** Settings of a daemon that sends through it. */
export function smsSettings(
  { url }: Pick<SmsGateway, 'url'>,
  limits: Readonly<Record<string, number>> = {},
): Readonly<Record<string, unknown>> {
  return {
    ...{ provider: 'http', sender: '+15005550006', allowed_countries: ['DE', 'US'], limits },
    http: { style: 'twilio', url, username: 'AC1', password: 'gateway-secret' },
  }
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
