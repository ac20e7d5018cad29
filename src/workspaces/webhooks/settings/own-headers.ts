/**
 * The header fields that the settings of a webhook add, such as a token that the endpoint asks for. Their values are
 * secret: we store and send them, and an answer shows `***`. A value of `***` that comes back keeps the stored one.
 */

import { type Json, parseJson } from '../../../base/storage/tables/columns.js'

export type OwnHeaders = Readonly<Record<string, string>>

export function readHeaders(stored: Json<OwnHeaders> | null): OwnHeaders {
  return stored === null ? {} : parseJson(stored)
}

export const MAX_HEADERS = 20
const MAX_NAME = 100
const MAX_VALUE = 2_000
const MASK = '***'

/** Fields that say how the request is framed or what its body is, and those that we sign with. */
const reserved: ReadonlySet<string> = new Set([
  ...['connection', 'expect', 'host', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'user-agent'],
])
const reservedPrefixes = ['content-', 'proxy-', 'svix-', 'webhook-', 'x-service-', 'x-twilio-'] as const

/** Names the rule that a field breaks. Null means none. */
export function findHeaderFault(name: string, value: string): string | null {
  if (name.length > MAX_NAME || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) {
    return `must have the name of a header field: at most ${MAX_NAME} letters, digits and signs such as "-"`
  }
  const lower = name.toLowerCase()
  if (reserved.has(lower) || reservedPrefixes.some((prefix) => lower.startsWith(prefix)))
    return `must not set ${name}, which Posthorn sets itself`
  if (value.length > MAX_VALUE || !/^[\x20-\x7e]*$/.test(value)) {
    return `must have values of printable ASCII, at most ${MAX_VALUE} characters`
  }
  return null
}

export function maskHeaders(headers: OwnHeaders): Record<string, string> {
  return Object.fromEntries(Object.keys(headers).map((name) => [name, MASK]))
}

/** The headers to store. Where a value is the mask, it is the stored one; a mask without a stored value is left out. */
export function mergeHeaders(stored: OwnHeaders, given: OwnHeaders): OwnHeaders {
  const known = new Map(Object.entries(stored).map(([name, value]) => [name.toLowerCase(), value]))
  const fields = Object.entries(given).flatMap(([name, value]): [string, string][] => {
    const kept = value === MASK ? known.get(name.toLowerCase()) : value
    return kept === undefined ? [] : [[name, kept]]
  })
  return Object.fromEntries(fields)
}
