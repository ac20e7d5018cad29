/** The policy of a domain for the mail that it receives, stored as the words that were chosen for it. */
import { type Json, parseJson } from '../../../base/storage/tables/columns.js'
import type { InboundPolicy } from '../../../base/storage/tables/domain-tables.js'

/** The words that a request gives. */
export type PolicyChange = { readonly [Word in keyof InboundPolicy]?: InboundPolicy[Word] | undefined }

export const defaultInboundPolicy: InboundPolicy = { greylisting: 'default', spam: 'file', dmarc: 'default' }

export function parseInboundPolicy(stored: Json<Partial<InboundPolicy>>): InboundPolicy {
  return { ...defaultInboundPolicy, ...parseJson(stored) }
}

/** The words that change. Null means that none does. */
export function diffInboundPolicy(
  stored: Json<Partial<InboundPolicy>>,
  { greylisting, spam, dmarc }: PolicyChange,
): Partial<InboundPolicy> | null {
  const before = parseInboundPolicy(stored)
  const changed: Partial<InboundPolicy> = {
    ...(greylisting === undefined || greylisting === before.greylisting ? {} : { greylisting }),
    ...(spam === undefined || spam === before.spam ? {} : { spam }),
    ...(dmarc === undefined || dmarc === before.dmarc ? {} : { dmarc }),
  }
  return Object.keys(changed).length === 0 ? null : changed
}
