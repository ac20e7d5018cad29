/**
 * The DNS queries of one message, within limits that the sender cannot extend.
 *
 * Each query has a time limit and the message as a whole has one; each check has its own number of queries, so
 * that twenty signatures never use up what DMARC needs. Answers are cached for the message: a query that two
 * checks make counts once.
 *
 * Thrown errors have the codes that mailauth reads: ENOTFOUND and ENODATA say that there is no such record; every
 * other code is a fault and becomes `temperror`.
 *
 * Known limit: a query that timed out is not cancelled; the resolver's own limit ends it.
 */
import type { DNSResolver } from 'mailauth'
import type { Clock } from '../../../base/platform/clock.js'
import type { LookupResult, MxRecord, RecordResolver, RecordType } from '../../../base/platform/dns/resolver.js'
import { type FoundAnswer, toAnswerKey } from './kept-answers.js'

export interface QueryLimits {
  /** Milliseconds. */
  readonly perQuery: number
  readonly perMessage: number
}

export const defaultQueryLimits: QueryLimits = { perQuery: 5_000, perMessage: 20_000 }

/** A resolver with answers at hand. */
export interface KeepingResolver extends RecordResolver {
  /** The answer to a question (`toAnswerKey`). It is always the same object while it may be used. */
  readonly findKept?: (key: string) => FoundAnswer | undefined
}

/** A DNS error as mailauth expects it. */
export class NoDnsAnswer extends Error {
  constructor(
    readonly code: 'ENOTFOUND' | 'ENODATA' | 'ETIMEOUT' | 'ELOOKUPLIMIT' | 'EDNSFAULT',
    message: string,
  ) {
    super(message)
  }

  /** The name does not exist or has no such record. That is an answer too. */
  get isEmpty(): boolean {
    return this.code === 'ENOTFOUND' || this.code === 'ENODATA'
  }
}

type MailauthRecords = readonly unknown[]

export class MessageQueries {
  private readonly until: number
  private readonly answers = new Map<string, Promise<MailauthRecords>>()
  private readonly used = new Map<string, FoundAnswer>()
  private readonly pinned = new Map<string, FoundAnswer>()

  constructor(
    private readonly resolver: KeepingResolver,
    private readonly limits: QueryLimits,
    private readonly clock: Clock,
  ) {
    this.until = clock() + limits.perMessage
  }

  /** A resolver for one check: at most `maxQueries` queries that no other check has made. */
  createResolver(maxQueries: number): DNSResolver {
    let left = maxQueries
    const ask = async (name: string, type: string): Promise<MailauthRecords> => {
      const key = toAnswerKey(name, type)
      const known = this.answers.get(key)
      if (known !== undefined) return known
      if (left === 0) throw new NoDnsAnswer('ELOOKUPLIMIT', `more than ${maxQueries} DNS questions`)
      left -= 1
      const asked = this.answer(key, name, type)
      this.answers.set(key, asked)
      return asked
    }
    // mailauth's types declare lists of text for all record types, but it reads objects for MX.
    return async (name, type) => [...(await ask(name, type))] as string[]
  }

  /** The answer to a question (`toAnswerKey`) that this message has asked. Undefined if none came in time. */
  findUsed(key: string): FoundAnswer | undefined {
    return this.used.get(key)
  }

  /** The answer that is at hand. Once it was, it is so for this message until its end, however long that takes. */
  findKept(key: string): FoundAnswer | undefined {
    const kept = this.pinned.get(key) ?? this.resolver.findKept?.(key)
    if (kept !== undefined) this.pinned.set(key, kept)
    return kept
  }

  private async answer(key: string, name: string, type: string): Promise<MailauthRecords> {
    const time = Math.min(this.limits.perQuery, this.until - this.clock())
    const found = this.findKept(key) ?? (await withTimeout(() => query(this.resolver, name, type), time, key))
    this.used.set(key, found)
    return toMailauth(found, name, type)
  }
}

const textTypes: readonly string[] = ['A', 'AAAA', 'TXT', 'PTR', 'CNAME'] satisfies readonly RecordType[]

function isTextType(type: string): type is RecordType {
  return textTypes.includes(type)
}

async function query(resolver: RecordResolver, name: string, type: string): Promise<FoundAnswer> {
  if (type === 'MX') return resolver.resolveMx(name)
  if (!isTextType(type)) throw new NoDnsAnswer('EDNSFAULT', `no questions for ${type} records`)
  return resolver.resolveRecords(name, type)
}

function toMailauth(answer: FoundAnswer, name: string, type: string): MailauthRecords {
  return recordsOf<string | MxRecord>(answer, name).map((record) => {
    if (typeof record !== 'string') return { exchange: record.exchange, priority: record.preference }
    return type === 'TXT' ? [record] : record
  })
}

function recordsOf<T>(lookup: LookupResult<T>, name: string): readonly T[] {
  switch (lookup.kind) {
    case 'records':
      return lookup.records
    case 'no-data':
      throw new NoDnsAnswer('ENODATA', `no such record at ${name}`)
    case 'no-domain':
      throw new NoDnsAnswer('ENOTFOUND', `no such name: ${name}`)
    case 'failure':
      throw new NoDnsAnswer(lookup.detail === 'TIMEOUT' ? 'ETIMEOUT' : 'EDNSFAULT', `DNS ${lookup.detail} for ${name}`)
  }
}

async function withTimeout<T>(ask: () => Promise<T>, time: number, key: string): Promise<T> {
  // Creating an error collects its stack, and hardly any query times out.
  const timeoutError = (): NoDnsAnswer => new NoDnsAnswer('ETIMEOUT', `no answer in time for ${key}`)
  if (time <= 0) throw timeoutError()
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(timeoutError()), time)
  })
  try {
    return await Promise.race([ask(), limit])
  } finally {
    clearTimeout(timer)
  }
}
