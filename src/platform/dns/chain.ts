/**
 * The answer to a question from a reply: follows the chain of CNAME records as far as the reply has them. Pure.
 *
 * The time to live is the minimum of the chain and of the records at its end (RFC 2181 section 5.2, RFC 2308).
 */
import type { AnswerRecord, Question, Reply } from './message.js'

export type DnsAnswer =
  | { readonly kind: 'records'; readonly records: readonly [AnswerRecord, ...AnswerRecord[]]; readonly ttl: number }
  /** `ttl` in seconds; null: the server did not say. */
  | { readonly kind: 'no-data' | 'no-domain'; readonly ttl: number | null }
  | { readonly kind: 'failure'; readonly detail: string }

/** The chain ends at a name for which the reply has no records: a query for it must follow. */
interface UnresolvedAlias {
  readonly kind: 'onward'
  readonly name: string
  /** Seconds, of the chain so far. */
  readonly ttl: number
}

/** `chainTtl`: seconds, of the CNAME records that led to this question. */
export function findAnswer(reply: Reply, question: Question, chainTtl: number): DnsAnswer | UnresolvedAlias {
  const { end, ttl, length } = followChain(reply.answers, question, chainTtl)
  if (length === null) return { kind: 'failure', detail: 'CNAMELOOP' }
  const negativeTtl = reply.negativeTtl === null ? null : Math.min(ttl, reply.negativeTtl)
  if (reply.code === 'NXDOMAIN') return { kind: 'no-domain', ttl: negativeTtl }
  const [first, ...rest] = reply.answers.filter(({ type, owner }) => type === question.type && owner === end)
  if (first !== undefined) {
    return { kind: 'records', records: [first, ...rest], ttl: Math.min(ttl, ...[first, ...rest].map((one) => one.ttl)) }
  }
  if (length === 0 || negativeTtl !== null) return { kind: 'no-data', ttl: negativeTtl }
  return { kind: 'onward', name: end, ttl }
}

interface Chain {
  readonly end: string
  readonly ttl: number
  /** Null: it is a loop. */
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
