/** POST /v1/files: stores a file once, to be sent many times by its `file_cache_key`. */
import { z } from 'zod'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import { findOwnerId } from '../../../workspaces/accounts/workspace/workspaces.js'
import { type CachedFile, MAX_FILE_BYTES } from '../../../workspaces/content/cached-files.js'
import { detectFileType } from '../../../workspaces/content/file-type.js'
import { type StoreFileDeps, storeFile } from '../../../workspaces/content/store-file.js'
import { type AcceptanceDeps, requireDiskSpace } from '../emails/email-acceptance.js'
import { contentType, filename } from '../emails/email-fields.js'
import { json } from '../http/answer.js'
import { timestamp } from '../http/input/values.js'
import { type Route, uploadRoute } from '../http/route/route.js'

interface FileDeps extends StoreFileDeps, Pick<AcceptanceDeps, 'hasDiskSpace'> {}

const cachedFile = z
  .strictObject({
    file_cache_key: z.string(),
    name: z.string().meta({ example: 'bill.pdf' }),
    size: z.int(),
    content_type: z.string(),
    created_at: timestamp,
  })
  .meta({ id: 'CachedFile' })

const storedFile = z
  .strictObject({ message: z.string().meta({ example: 'the file is stored' }), data: cachedFile })
  .meta({ id: 'StoredFile' })

export function fileRoutes(deps: FileDeps): readonly Route[] {
  return [
    uploadRoute({
      method: 'POST',
      path: '/files',
      area: 'send',
      tag: 'Files',
      summary: 'Store a file, to send it by its key',
      description: '`attachments` and `inline_images` of emails of this workspace may refer to its `file_cache_key`.',
      query: z.strictObject({ name: filename }),
      file: {
        limit: { bytes: MAX_FILE_BYTES, tooLarge: 'attachment-too-large' },
        description: 'Its type is that of the part, else derived from `name`.',
        example: 'The terms, as bytes.',
      },
      answers: { 200: { description: 'It is stored.', schema: storedFile } },
      refusals: ['missing_required_field', 'attachment_too_large', 'insufficient_quota'],
      run: async ({ principal: { workspaceId }, query: { name }, body: file }) => {
        requireDiskSpace(deps)
        const declared = contentType.safeParse(file.contentType)
        const type = detectFileType(declared.success ? declared.data : null, name)
        const owner = await findOwnerId(deps.read, workspaceId)
        const row = await storeFile(deps, { workspaceId, owner, name, contentType: type, bytes: file.bytes })
        return json(200, { message: 'the file is stored', data: toFileResource(row) })
      },
    }),
  ]
}

function toFileResource({ key, name, size, content_type, created_at }: CachedFile): z.output<typeof cachedFile> {
  return { file_cache_key: key, name, size, content_type, created_at: iso(created_at) }
}
