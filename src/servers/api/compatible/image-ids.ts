/**
 * Checks the content ids that other services' clients give their images, and makes one of the filename where a client gives
 * none.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { contentId, MAX_CONTENT_ID } from '../emails/email-fields.js'
import { issueErrorMap } from '../http/input/issue-messages.js'

/** The id of an image, with or without `cid:` and angle brackets. */
export const imageId = z
  .string()
  .transform((text) => text.replace(/^cid:/i, '').replace(/^<|>$/g, ''))
  .pipe(contentId)
  .meta({ description: 'HTML shows the image as `cid:` and this.' })

/** The same, or an empty text for a file that is no image. */
export const optionalImageId = z
  .string()
  .transform((text) => (text === '' ? undefined : text))
  .pipe(imageId.optional())
  .meta({ description: 'HTML shows the image as `cid:` and this.' })

interface InlineFile {
  /** The field of the id. */
  readonly field: string
  /** Undefined or empty if the client gives none. */
  readonly id: string | undefined
  readonly filename: string
}

/** The id of an inline image. Clients give other files ids too, of any form, so only that of an image is checked. */
export function readInlineId({ field, id, filename }: InlineFile, context: z.RefinementCtx): string {
  if (id === undefined || id === '') return toContentId(filename)
  const { data, error } = imageId.safeParse(id, { error: issueErrorMap })
  if (data !== undefined) return data
  context.addIssue({ code: 'custom', path: [field], message: error?.issues[0]?.message ?? 'is not a content id' })
  return z.NEVER
}

/**
 * The content id that the filename gives. Characters that an id must not have are encoded as URLs have them: HTML shows
 * `my logo.png` as `cid:my%20logo.png`.
 */
function toContentId(filename: string): string {
  const encoded = filename.replace(/[^\x21-\x3b\x3d\x3f-\x7e]+/g, encodeURIComponent)
  return encoded.length <= MAX_CONTENT_ID ? encoded : createHash('sha256').update(filename).digest('hex')
}
