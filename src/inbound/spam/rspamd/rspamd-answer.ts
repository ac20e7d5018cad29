/**
 * Parses rspamd's answer to `/checkv2`. Pure.
 *
 * Its form is not trusted: an answer without a score is no answer, and anything else that is missing or malformed
 * gets its default. Options of symbols are left out, because they are pieces of the message.
 *
 * Limits: the first 1,000 symbols are read; scores are limited to ±1,000.
 */
import { decodeHeaderText } from '../../../base/mail/header-text.js'
import { isRecord } from '../../../base/platform/records.js'

export interface RspamdSymbol {
  readonly name: string
  readonly score: number
  readonly description: string
}

/** They are in the order of increasing severity. `soft reject` and `greylist` concern the moment, not the message. */
export type RspamdAction = 'none' | 'add header' | 'reject'

export interface RspamdVerdict {
  readonly score: number
  /** The score from which rspamd refuses a message. */
  readonly requiredScore: number
  readonly action: RspamdAction
  readonly symbols: readonly RspamdSymbol[]
}

const MAX_SYMBOLS = 1_000
const MAX_SCORE = 1_000
/** It comes from rspamd's configuration. It is null in the answer if rspamd's actions are not configured. */
const DEFAULT_REQUIRED_SCORE = 15

const actionNames: Readonly<Record<string, RspamdAction>> = {
  'add header': 'add header',
  'rewrite subject': 'add header',
  quarantine: 'reject',
  discard: 'reject',
  reject: 'reject',
}

/** Null if it is not an answer of rspamd. */
export function parseRspamdVerdict(text: string): RspamdVerdict | null {
  const answer = asRecord(parseJson(text))
  const score = asBoundedNumber(answer?.['score'])
  if (answer === null || score === null) return null
  const required = asBoundedNumber(answer['required_score'])
  return {
    score,
    requiredScore: required === null || required < 1 ? DEFAULT_REQUIRED_SCORE : required,
    action: actionOf(answer['action']),
    symbols: Object.entries(asRecord(answer['symbols']) ?? {})
      .slice(0, MAX_SYMBOLS)
      .map(toSymbol),
  }
}

function actionOf(action: unknown): RspamdAction {
  return typeof action === 'string' && Object.hasOwn(actionNames, action) ? (actionNames[action] ?? 'none') : 'none'
}

function toSymbol([name, value]: readonly [string, unknown]): RspamdSymbol {
  const { score, description } = asRecord(value) ?? {}
  return {
    name: name.slice(0, 60).replace(/[^A-Za-z0-9_]/g, '_'),
    score: asBoundedNumber(score) ?? 0,
    description: typeof description === 'string' ? decodeHeaderText(description, 200) : '',
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> | null {
  return isRecord(value) ? value : null
}

function asBoundedNumber(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? Math.max(-MAX_SCORE, Math.min(MAX_SCORE, value)) : null
}
