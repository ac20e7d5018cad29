/**
 * Gives an email its own bytes. Composing an email takes over the memory of its long bodies and its files, so emails
 * of one request that have the same bodies or files must not share it.
 */
import type { EmailRequest } from './email-request.js'

export function copyBytes(request: EmailRequest): EmailRequest {
  const copy: EmailRequest = { ...request }
  for (const name of ['html', 'htmlbody', 'text', 'textbody'] as const) {
    const body = request[name]
    if (Buffer.isBuffer(body)) copy[name] = Buffer.from(body)
  }
  if (request.attachments !== undefined) copy.attachments = request.attachments.map(copyContent)
  if (request.inline_images !== undefined) copy.inline_images = request.inline_images.map(copyContent)
  return copy
}

function copyContent<File extends object>(file: File): File {
  return 'content' in file && Buffer.isBuffer(file.content) ? { ...file, content: Buffer.from(file.content) } : file
}
