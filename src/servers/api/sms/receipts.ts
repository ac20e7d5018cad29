/**
 * POST and GET /v1/sms/receipts/:id/:token: what the HTTP provider reports of a message.
 *
 * The URL was given to the provider with the message; its token is the permission. The answer comes when the change is
 * on disk, so a provider that gets none should repeat the report. A state that is not final is ignored.
 */
import type { KeyObject } from 'node:crypto'
import type { Receipt } from '../../../workspaces/sms/provider.js'
import { isReceiptToken } from '../../../workspaces/sms/receipt-url.js'
import type { SmsService } from '../../../workspaces/sms/service/sms-service.js'
import { noContent } from '../http/answer.js'
import { readCallbackFields } from '../http/input/callback-fields.js'
import { openRoute, type Route } from '../http/route/route.js'

interface ReceiptDeps {
  /** The service's secret of SMS. */
  readonly secret: KeyObject
  readonly sms: Pick<SmsService, 'applyReceipt'>
}

const path = '/sms/receipts/:id/:token'
const tag = 'SMS verification'
const params = { id: 'Id of the code.', token: 'That of the code, as its URL has it.' }
const description =
  'Needs no key: the provider gets the URL with the message. Reads a form, a JSON object, or the query. The state is in a ' +
  'field such as `MessageStatus`, `status`, `state` or `delivery_status`; a state that is not final is ignored.'

/** Fields of the state, with the names of `readCallbackFields`. The first one that a report has counts. */
const STATE_FIELDS = ['messagestatus', 'smsstatus', 'deliverystatus', 'dlrstatus', 'status', 'state', 'stat'] as const
/** Fields of the gateway's code for what went wrong. */
const CODE_FIELDS = ['errorcode', 'errcode', 'err', 'error'] as const
const MAX_WORD = 100

/** Words of well-known gateways, in lower case without spaces, hyphens and underscores. */
const wordsOfState: Readonly<Record<Receipt['state'], readonly string[]>> = {
  delivered: [
    ...['delivered', 'delivrd', 'success', 'successful', 'deliverysuccess'],
    ...['deliveredtoterminal', 'deliveredtohandset', 'read'],
  ],
  failed: [
    ...['failed', 'fail', 'failure', 'error', 'deliveryfailed', 'deliveryfailure', 'deliveryimpossible'],
    ...['undelivered', 'undeliv', 'undeliverable', 'notdelivered', 'rejected', 'rejectd', 'blocked'],
    ...['expired', 'deleted', 'canceled', 'cancelled'],
  ],
}

const stateOfWord: ReadonlyMap<string, Receipt['state']> = new Map([
  ...wordsOfState.delivered.map((word) => [word, 'delivered'] as const),
  ...wordsOfState.failed.map((word) => [word, 'failed'] as const),
])

export function receiptRoutes(deps: ReceiptDeps): readonly Route[] {
  return [receiptRoute(deps, 'POST'), receiptRoute(deps, 'GET')]
}

function receiptRoute({ secret, sms }: ReceiptDeps, method: 'POST' | 'GET'): Route {
  return openRoute({
    ...{ method, area: 'callback', path, tag, params, description },
    readBody: readCallbackFields,
    summary: method === 'POST' ? 'Report the delivery of a message' : 'Report the delivery of a message in the query',
    answers: { 204: { description: 'The report is on disk, or was ignored' } },
    refusals: ['not_found', 'payload_too_large'],
    isAuthorized: ({ id = '', token = '' }) => isReceiptToken(secret, id, token),
    run: async ({ params: { id = '' }, body }) => {
      const report = readReceiptReport(body)
      if (report !== null) await sms.applyReceipt({ provider: 'http', messageIds: [], smsId: id, ...report })
      return noContent
    },
  })
}

/** Null if it is no final state. */
export function readReceiptReport(fields: ReadonlyMap<string, string>): Pick<Receipt, 'state' | 'reason'> | null {
  const word = findWord(fields, STATE_FIELDS)
  const state = stateOfWord.get(word.toLowerCase().replace(/[\s_-]/g, ''))
  if (state === undefined) return null
  const code = findWord(fields, CODE_FIELDS)
  return { state, reason: code === '' ? word : `${word}, code ${code}` }
}

/** Reads the first of these fields that the report has, on one line and cut off, because it is logged. */
function findWord(fields: ReadonlyMap<string, string>, names: readonly string[]): string {
  const name = names.find((each) => fields.has(each)) ?? ''
  return (fields.get(name) ?? '').slice(0, MAX_WORD).replace(/\p{Cc}/gu, ' ')
}
