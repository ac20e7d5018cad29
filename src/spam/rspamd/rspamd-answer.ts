/**
 * What rspamd answers to `/checkv2`, read into what we use of it. Pure.
 *
 * Nothing of it is trusted to have its form: what has no score is no answer, whatever else is
 * missing or odd has its usual value. Options of symbols are left out: they are pieces of the message.
 *
 * Limits: the first 1,000 symbols are looked at; scores are cut to 1,000 either way.
 */
import { decodeHeaderText } from '../../mail/header-text.js'
import { isRecord } from '../../platform/records.js'

export interface RspamdSymbol {
  readonly name: string
  readonly score: number
  readonly description: string
}

/** In the order of what they do to a message. `soft reject` and `greylist` speak of now, not of the message. */
export type RspamdAction = 'none' | 'add header' | 'reject'

export interface RspamdVerdict {
  readonly score: number
  /** From where rspamd refuses a message. */
  readonly requiredScore: number
  readonly action: RspamdAction
  readonly symbols: readonly RspamdSymbol[]
}

const MAX_SYMBOLS = 1_000
const MAX_SCORE = 1_000
/** Of rspamd's own configuration; it says null where its actions are not configured. */
const DEFAULT_REQUIRED_SCORE = 15

const actionNames: Readonly<Record<string, RspamdAction>> = {
  'add header': 'add header',
  'rewrite subject': 'add header',
  quarantine: 'reject',
  discard: 'reject',
  reject: 'reject',
}

/** Null: it is no answer of rspamd. */
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
