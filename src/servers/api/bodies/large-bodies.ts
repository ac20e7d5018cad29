/**
 * The bodies that may be large: `http/input/body-thread` parses them on a thread, which finds their schemas here by name.
 * A route whose body is not among them takes no more than `http/input/body-thread` says.
 */
import type { z } from 'zod'
import { bulkRequest } from '../audiences/bulk-contacts.js'
import { broadcastChange, broadcastRequest } from '../broadcasts/broadcast-fields.js'
import { mailgunSuppressions } from '../compatible/mailgun-suppressions.js'
import { postmarkBatch, postmarkEmail, postmarkTemplateBatch } from '../compatible/postmark.js'
import { sendGridMail } from '../compatible/sendgrid-mail.js'
import { sesBulkEmail, sesEmail } from '../compatible/ses-email.js'
import { zeptoMail } from '../compatible/zeptomail-request.js'
import { templateChange, templateRequest } from '../content/template-fields.js'
import { compileRequest, previewRequest } from '../content/template-pages.js'
import { renderRequest } from '../content/templates.js'
import { domainChangeRequest } from '../domains/domain-fields.js'
import { batchRequest } from '../emails/batch.js'
import { emailRequest } from '../emails/email-request.js'
import { replyRequest } from '../inbound/reply.js'
import { framePreviewRequest } from '../message-views/frames.js'

const schemas: Readonly<Record<string, z.ZodType>> = {
  email: emailRequest,
  batch: batchRequest,
  reply: replyRequest,
  template: templateRequest,
  templateChange,
  templatePreview: previewRequest,
  compiledBlocks: compileRequest,
  render: renderRequest,
  broadcast: broadcastRequest,
  broadcastChange,
  bulk: bulkRequest,
  domainChange: domainChangeRequest,
  framePreview: framePreviewRequest,
  postmarkEmail,
  postmarkBatch,
  postmarkTemplateBatch,
  sendGridMail,
  sesEmail,
  sesBulkEmail,
  zeptoMail,
  mailgunSuppressions,
}

const names = new Map(Object.entries(schemas).map(([name, schema]) => [schema, name]))

/** Null if it is none of them. */
export function nameOfLargeBody(schema: z.ZodType): string | null {
  return names.get(schema) ?? null
}

/** `name` is what `nameOfLargeBody` returns. */
export function findLargeBody(name: string): z.ZodType {
  const schema = schemas[name]
  if (schema === undefined) throw new Error(`no body is named ${name}`)
  return schema
}
