/** The attachments and inline images of a request for an email. */
import { z } from 'zod'
import { isRecord } from '../../../base/platform/records.js'
import { withMaxSize } from '../http/input/schema-bounds.js'
import { base64, contentId, contentType, filename } from './email-fields.js'

/** Inline images count too. */
export const MAX_ATTACHMENTS = 20

const cacheKey = z.string().min(1).max(256).meta({ description: 'The key of a file that was stored before.' })
const attachedFile = {
  filename,
  content: base64,
  content_type: contentType.default('application/octet-stream'),
}
const cachedFile = z.strictObject({ file_cache_key: cacheKey, name: filename.optional() })
const error = 'must be {filename, content, content_type} or {file_cache_key, name}'

/** Attachments of a reply. */
export const attachments = withMaxSize(
  MAX_ATTACHMENTS,
  'attachments',
  z.array(z.union([z.strictObject(attachedFile), cachedFile], { error })).max(MAX_ATTACHMENTS),
).optional()

const attachment = z.union(
  [
    z.strictObject({
      ...attachedFile,
      content_id: contentId
        .optional()
        .meta({ description: 'Makes it an inline image, which HTML shows as `cid:` and this.', example: 'logo' }),
    }),
    cachedFile,
  ],
  { error },
)

/** A URL is refused before the forms are tried, because their faults would hide it. */
const attachmentWithoutUrl = z.preprocess((given, context) => {
  if (!isRecord(given) || (given['path'] ?? null) === null) return given
  const message =
    'is not supported, because nothing is fetched: send the bytes in content, or store the file once and give its file_cache_key'
  context.addIssue({ code: 'custom', path: ['path'], message })
  return z.NEVER
}, attachment)

export const emailAttachments = withMaxSize(
  MAX_ATTACHMENTS,
  'attachments',
  z.array(attachmentWithoutUrl).max(MAX_ATTACHMENTS),
).optional()

const inlineImage = z.union(
  [
    z.strictObject({
      content: base64,
      cid: contentId,
      filename: filename.optional(),
      content_type: contentType.optional().meta({ description: 'Detected from the bytes if it is not given.' }),
    }),
    z.strictObject({ file_cache_key: cacheKey, cid: contentId }),
  ],
  { error: 'must be {content, cid} or {file_cache_key, cid}' },
)

export const inlineImages = withMaxSize(MAX_ATTACHMENTS, 'images', z.array(inlineImage).max(MAX_ATTACHMENTS)).optional()
