/**
 * Writes what a gateway answered in a form that we may log: bounded, in one line, without secrets.
 *
 * Gateways repeat what we send: the text with its code, the account, the receipt URL.
 */
import type { SmsMessage } from '../provider.js'

const MAX_REASON = 400
/** A code has four digits at least. */
const digitRuns = /\d{4,}/g

/** `credentials` are texts in the configuration. */
export function toLogReason(reason: string, message: SmsMessage, credentials: readonly string[]): string {
  const { text } = message.text
  const secrets = [text, message.receiptUrl, lastSegmentOf(message.receiptUrl), ...credentials]
  const digits = text.match(digitRuns) ?? []
  const sorted = [...secrets, ...digits]
    .filter((secret) => secret !== '')
    .sort((left, right) => right.length - left.length)
  const hidden = sorted.reduce((words, secret) => words.replaceAll(secret, '[hidden]'), reason)
  return hidden.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').slice(0, MAX_REASON)
}

/** The token of a receipt URL. */
function lastSegmentOf(url: string): string {
  return url.slice(url.lastIndexOf('/') + 1)
}
