/** The routes that only the pages of templates need: a list without bodies, and previews of what is not stored. */

import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import { MAX_ID } from '../../../base/storage/db/paging.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { addFooters } from '../../../outbound/broadcasts/preview-footer.js'
import type { ComposeThread } from '../../../outbound/sending/compose-thread.js'
import { LONG_BODY } from '../../../outbound/sending/message-content.js'
import { readMailFooter } from '../../../workspaces/accounts/workspace/mail-footer.js'
import { MAX_TEMPLATE_BYTES } from '../../../workspaces/content/change-template.js'
import { renderPreview } from '../../../workspaces/content/render-template.js'
import { parseTemplate } from '../../../workspaces/content/template-cache.js'
import { selectTemplatePage } from '../../../workspaces/content/templates.js'
import { templateData } from '../emails/email-fields.js'
import { json } from '../http/answer.js'
import { MAX_TEMPLATE_BODY } from '../http/input/json-body.js'
import { sliceAfterQuery } from '../http/input/paging.js'
import { type Route, route } from '../http/route/route.js'
import { blocksRequest, compileSource, oneSource } from './blocks-field.js'
import { templateRecord } from './template-fields.js'

export const previewRequest = z
  .strictObject({
    subject: z.string().max(2_000, 'allowed: up to 2000 characters').default(''),
    html: z.string().nullable().default(null),
    text: z.string().nullable().default(null),
    blocks: blocksRequest.default(null),
    footer: z
      .boolean()
      .default(false)
      .meta({ description: 'Whether bodies without a link to unsubscribe get the footer of broadcasts.' }),
    template_data: templateData.default({}),
  })
  .check(oneSource)
  .meta({ id: 'TemplatePreviewRequest', example: { subject: 'Hello {{first_name}}', html: '<p>Hello</p>' } })

const preview = z
  .strictObject({
    subject: z.string(),
    html: z.string().nullable(),
    text: z.string().nullable(),
    variables: z.array(z.string()).meta({ description: 'All but `unsubscribe_url`, each once.' }),
    missing: z.array(z.string()).meta({ description: 'Those that have no value and no default.' }),
  })
  .meta({ id: 'TemplatePreview' })

const listed = templateRecord.omit({ html: true, text: true, blocks: true }).meta({ id: 'ListedTemplate' })

export function templatePageRoutes(
  read: Read,
  sampleUnsubscribeUrl: string,
  composing: ComposeThread,
): readonly Route[] {
  return [listRoute(read), previewRoute(read, sampleUnsubscribeUrl, composing), compileRoute(composing)]
}

function listRoute(read: Read): Route {
  return route({
    method: 'GET',
    path: '/templates',
    area: 'read',
    tag: 'Templates',
    summary: 'List the templates without their bodies, newest first',
    query: sliceAfterQuery,
    answers: { 200: { description: 'Some of them.', schema: z.strictObject({ data: z.array(listed) }) } },
    refusals: [],
    run: async ({ principal: { workspaceId }, query }) => {
      const { after: before = MAX_ID, ...slice } = query
      const data = (await selectTemplatePage(read, { workspaceId, before, ...slice })).map(
        ({ id, name, alias, subject, variables, created_at: created, updated_at: updated }) => ({
          ...{
            object: 'template',
            id,
            name,
            alias,
            subject,
            variables: [...parseJson(variables)],
            status: 'published',
          },
          ...{ created_at: formatTimestamp(created), updated_at: formatTimestamp(updated) },
        }),
      )
      return json(200, { data })
    },
  })
}

/** `unsubscribeUrl` unsubscribes no recipient. */
function previewRoute(read: Read, unsubscribeUrl: string, composing: ComposeThread): Route {
  return route({
    method: 'POST',
    path: '/template-previews',
    area: 'read',
    tag: 'Templates',
    summary: 'Render words that are not stored, with these values',
    description: 'A variable without a value and without a default stands for itself.',
    body: previewRequest,
    maxBody: MAX_TEMPLATE_BODY,
    answers: { 200: { description: 'Subject and bodies.', schema: preview } },
    refusals: ['payload_too_large'],
    run: async ({ principal: { workspaceId }, body }) => {
      const { subject, template_data: data } = body
      const { html = null } = await compileSource(composing, workspaceId, body)
      const { text } = body
      const size = Buffer.byteLength(html ?? '') + Buffer.byteLength(text ?? '')
      if (size > MAX_TEMPLATE_BYTES) {
        const message = `HTML and text have ${size} bytes, allowed: ${MAX_TEMPLATE_BYTES}`
        throw new Refusal('too-large', message, { size, limit: MAX_TEMPLATE_BYTES })
      }
      const words = { id: '', subject, html, text }
      const rendered =
        size > LONG_BODY
          ? await composing.preview(workspaceId, { words, data, unsubscribeUrl })
          : renderPreview(parseTemplate(words), data, unsubscribeUrl)
      const bodies = body.footer
        ? addFooters(rendered, { sources: words, url: unsubscribeUrl, footer: await readMailFooter(read, workspaceId) })
        : rendered
      return json(200, { ...rendered, ...bodies, variables: [...rendered.variables], missing: [...rendered.missing] })
    },
  })
}

export const compileRequest = z.strictObject({ blocks: z.record(z.string(), z.unknown()) })
const compiled = z.strictObject({ html: z.string() })

/** An editor asks for it when its user goes on in HTML. */
function compileRoute(composing: ComposeThread): Route {
  return route({
    method: 'POST',
    path: '/compiled-blocks',
    area: 'read',
    tag: 'Templates',
    summary: 'Make HTML of a mail in blocks, with its variables',
    body: compileRequest,
    maxBody: MAX_TEMPLATE_BODY,
    answers: { 200: { description: 'The HTML.', schema: compiled } },
    refusals: [],
    run: async ({ principal: { workspaceId }, body: { blocks } }) =>
      json(200, { html: (await composing.compileBlocks(workspaceId, blocks)).html }),
  })
}
