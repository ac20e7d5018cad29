/** The schema of `metadata`: an object of the client's own, which is stored unchanged. */
import { z } from 'zod'
import { MAX_METADATA, type Metadata } from '../../../../workspaces/audiences/contacts.js'
import { rejectProto } from './schema-bounds.js'

/** `note` is one more sentence about it, for the OpenAPI document. */
export function metadataObject(note: string): z.ZodType<Metadata> {
  return rejectProto(
    z
      .record(z.string(), z.unknown(), 'allowed: an object')
      .refine(
        (given) => Buffer.byteLength(JSON.stringify(given)) <= MAX_METADATA,
        `allowed: up to ${MAX_METADATA} bytes of JSON`,
      ),
  ).meta({ description: `Any object of up to ${MAX_METADATA} bytes as JSON. ${note}` })
}
