/**
 * The answer to a question from a reply: follows the chain of CNAME records as far as the reply has them. Pure.
 *
 * The time to live is the minimum of the chain and of the records at its end (RFC 2181 section 5.2, RFC 2308).
 */
import type { AnswerRecord, DnsReply, Question } from './message.js'

export type DnsAnswer =
  | (Found & {
      readonly kind: 'records'
      readonly records: readonly [AnswerRecord, ...AnswerRecord[]]
      readonly ttl: number
    })
  /** `ttl` in seconds, or null if the server did not say. */
  | (Found & { readonly kind: 'no-data' | 'no-domain'; readonly ttl: number | null })
  | { readonly kind: 'failure'; readonly detail: string }

interface Found {
  /** Every reply that led here says that its data is authentic. */
  readonly isAuthenticData: boolean
  /** There was a CNAME record. */
  readonly isAlias: boolean
}

/** The chain ends at a name without records in the reply, so a query for it must follow. */
interface UnresolvedAlias {
  readonly kind: 'onward'
  readonly name: string
  /** Seconds, of the chain so far. */
  readonly ttl: number
  readonly isAuthenticData: boolean
}

/** The CNAME records that led to a question. */
export interface ChainSoFar {
  /** Seconds. */
  readonly ttl: number
  readonly isAuthenticData: boolean
  readonly isAlias: boolean
}

export const noChain: ChainSoFar = { ttl: Number.POSITIVE_INFINITY, isAuthenticData: true, isAlias: false }

export function findAnswer(reply: DnsReply, question: Question, before: ChainSoFar): DnsAnswer | UnresolvedAlias {
  const { end, ttl, length } = followChain(reply.answers, question, before.ttl)
  if (length === null) return { kind: 'failure', detail: 'CNAMELOOP' }
  const isAuthenticData = before.isAuthenticData && reply.isAuthenticData
  const found = { isAuthenticData, isAlias: before.isAlias || length > 0 }
  const negativeTtl = reply.negativeTtl === null ? null : Math.min(ttl, reply.negativeTtl)
  if (reply.code === 'NXDOMAIN') return { ...found, kind: 'no-domain', ttl: negativeTtl }
  const [first, ...rest] = reply.answers.filter(({ type, owner }) => type === question.type && owner === end)
  if (first !== undefined) {
    const records = [first, ...rest] as const
    return { ...found, kind: 'records', records, ttl: Math.min(ttl, ...records.map((one) => one.ttl)) }
  }
  if (length === 0 || negativeTtl !== null) return { ...found, kind: 'no-data', ttl: negativeTtl }
  return { kind: 'onward', name: end, ttl, isAuthenticData }
}

interface Chain {
  readonly end: string
  readonly ttl: number
  /** Null if it is a loop. */
  readonly length: number | null
}

function followChain(answers: readonly AnswerRecord[], { name, type }: Question, chainTtl: number): Chain {
  let end = name
  let ttl = chainTtl
  if (type === 'CNAME') return { end, ttl, length: 0 }
  const aliases = new Map(answers.filter((record) => record.type === 'CNAME').map((record) => [record.owner, record]))
  const seen = new Set<string>()
  for (let alias = aliases.get(end); alias !== undefined; alias = aliases.get(end)) {
    seen.add(end)
    end = alias.text
    ttl = Math.min(ttl, alias.ttl)
    if (seen.has(end)) return { end, ttl, length: null }
  }
  return { end, ttl, length: seen.size }
}
