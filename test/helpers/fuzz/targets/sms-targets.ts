/** What SMS gateways and SMSCs send: answers, reports, protocol data units; texts and templates. */
import { parseCallbackBody } from '../../../../src/servers/api/http/input/callback-fields.js'
import { readReceiptReport } from '../../../../src/servers/api/sms/receipts.js'
import { createTemplateStyle } from '../../../../src/workspaces/sms/http/body-template.js'
import { toLogReason } from '../../../../src/workspaces/sms/http/log-reason.js'
import { createTwilioStyle } from '../../../../src/workspaces/sms/http/twilio.js'
import { buildMessageText, checkTemplate } from '../../../../src/workspaces/sms/message-text.js'
import { decodePdu, encodePdu, MAX_PDU_BYTES } from '../../../../src/workspaces/sms/smpp/pdu.js'
import { readDelivery } from '../../../../src/workspaces/sms/smpp/read-delivery.js'
import { readPdus } from '../../../../src/workspaces/sms/smpp/read-pdus.js'
import { encodeText } from '../../../../src/workspaces/sms/text-encoding.js'
import { check, checkEqual, type FuzzTarget } from '../target.js'
import { isRefusal } from './refusals.js'

async function* inPieces(octets: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < octets.length; start += size) yield octets.subarray(start, start + size)
}

async function readUnits(input: Buffer): Promise<void> {
  const read = async (size: number): Promise<readonly string[]> => {
    const units: string[] = []
    try {
      for await (const unit of readPdus(inPieces(input, size))) {
        check(unit.length >= 16 && unit.length <= MAX_PDU_BYTES, 'a unit has its limits')
        const pdu = decodePdu(unit)
        const delivery = readDelivery(pdu)
        if (delivery.kind === 'receipt')
          check(delivery.id !== '' && delivery.id.length <= 65 && !/\p{Cc}/u.test(delivery.id), 'an id is printable')
        units.push(unit.toString('hex'))
      }
    } catch (error) {
      // The length that no unit can have; what came before it counts.
      if (!(error instanceof RangeError) || !error.message.startsWith('a unit of')) throw error
      units.push(error.message)
    }
    return units
  }
  checkEqual(await read(1 + ((input[3] ?? 0) % 40)), await read(input.length + 1), 'chunks change no unit')
}

const login = { username: 'account', password: 'secret', sender: 'Posthorn', body_template: '{}' }
const styles = [createTwilioStyle(login), createTemplateStyle(login)]
const message = {
  id: 'code-1',
  phone: '+4915123456789',
  text: encodeText('Your code is 048213'),
  receiptUrl: 'https://a.test/v1/sms/receipts/code-1/token',
  expiresAt: 0,
}

function readAnswers(input: Buffer): void {
  const text = input.toString()
  for (const style of styles) {
    for (const status of [201, 400, 503]) {
      for (const isComplete of [true, false]) {
        const outcome = style.readAnswer({ status, text, isComplete })
        const said = outcome.kind === 'accepted' ? style.describeAnswer({ status, text, isComplete }) : outcome.reason
        const logged = toLogReason(said, message, ['account', 'secret'])
        check(!/[\p{Cc}]/u.test(logged), 'a logged reason is printable')
        check(!logged.includes('048213'), 'a logged reason has no code')
      }
    }
  }
  readReceiptReport(parseCallbackBody(input))
}

function buildTexts(input: Buffer): void {
  const template = input.toString()
  checkTemplate(template)
  const text = buildMessageText(template, { code: '048213', minutes: 10 })
  check(text.includes('048213'), 'a message has the code')
  encodeText(text)
}

const unit = (command: string, fields: Record<string, string | number | Buffer>): Buffer =>
  encodePdu({ command, sequence: 1, fields })
const receipt = 'id:abc sub:001 dlvrd:001 submit date:2601010000 done date:2601010000 stat:DELIVRD err:000 text:x'

export const smsTargets: readonly FuzzTarget[] = [
  {
    name: 'smpp',
    checks: 'chunks change no unit; limits; ids are printable',
    seeds: [
      unit('deliver_sm', { esm_class: 4, short_message: receipt }),
      unit('deliver_sm', { receipted_message_id: 'abc', message_state: 2 }),
      Buffer.concat([unit('submit_sm_resp', { message_id: 'abc' }), unit('enquire_link', {})]),
      unit('data_sm', { esm_class: 4, message_payload: receipt, data_coding: 8 }),
    ],
    words: [
      '\0\0\0\x10',
      '\0\0\x40\0',
      '\x80\0\0\x04',
      '\0\0\0\x05',
      '\x04\x24',
      '\0\x1e',
      '\x04\x27',
      'id:',
      ' stat:',
      'err:',
      '\0',
    ],
    maxSize: 32_768,
    run: readUnits,
  },
  {
    name: 'sms-gateways',
    checks: 'logged reasons are printable and without the code',
    seeds: [
      '{"sid":"SM1","status":"queued"}',
      '{"code":21211,"message":"Invalid number 048213","status":400}',
      'MessageSid=SM1&MessageStatus=delivered&ErrorCode=30003',
      '{"status":{"name":"DELIVERED"},"error":null}',
    ],
    words: [
      '{',
      '}',
      '[',
      '"',
      ':',
      '\\u0000',
      'status',
      'message',
      'code',
      '048213',
      'Your code is',
      '&',
      '=',
      '%00',
      '+',
      'null',
    ],
    run: readAnswers,
  },
  {
    name: 'sms-texts',
    checks: 'refused, or a message with the code',
    seeds: ['Your code is {code}, valid for {minutes} minutes', '{code}€{'],
    words: ['{code}', '{minutes}', '{', '}', '€', '💌', '\u001b', '[', '~'],
    maxSize: 4_096,
    run: buildTexts,
    refuses: isRefusal,
  },
]
