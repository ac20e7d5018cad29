/**
 * The routes of templates: create, list, show, change, delete, and render with sample values.
 *
 * A page of the list has at most `PAGE_BYTES` of bodies; templates after that have `html` and `text`
 * null and must be read one by one.
 */

import { z } from 'zod'
import type { Refusal } from '../../../base/mail/refusal.js'
import { JsonText } from '../../../base/platform/json-text.js'
import type { Store } from '../../../base/storage/db/database.js'
import { MAX_ID } from '../../../base/storage/db/paging.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { tryCommit } from '../../../base/storage/db/write.js'
import type { ComposeThread } from '../../../outbound/sending/compose-thread.js'
import {
  changeTemplate,
  checkUnchanged,
  createTemplate,
  MAX_TEMPLATE_BYTES,
} from '../../../workspaces/content/change-template.js'
import { renderSmallTemplate } from '../../../workspaces/content/render-template.js'
import type { TemplateCache } from '../../../workspaces/content/template-cache.js'
import { MAX_PLACES } from '../../../workspaces/content/template-text.js'
import {
  removeTemplate,
  selectTemplateBodies,
  selectTemplatePage,
  templateById,
  templateIdByAlias,
} from '../../../workspaces/content/templates.js'
import { templateData } from '../emails/email-fields.js'
import { json } from '../http/answer.js'
import { MAX_TEMPLATE_BODY } from '../http/input/json-body.js'
import { listSchema, sliceAfterQuery } from '../http/input/paging.js'
import { goneSchema, notFound, uuid } from '../http/input/values.js'
import { stringifyList } from '../http/output/json-in-steps.js'
import { type Call, type Route, route } from '../http/route/route.js'
import { compileSource } from './blocks-field.js'
import {
  createdTemplate,
  templateChange,
  templateRecord,
  templateRequest,
  toCreatedTemplate,
  toTemplateResource,
} from './template-fields.js'

interface TemplateRouteDeps extends Store {
  readonly templates: TemplateCache
  /** The value of `unsubscribe_url` in previews: it unsubscribes no recipient. */
  readonly sampleUnsubscribeUrl: string
  readonly composing: ComposeThread
}

/** Bytes of bodies in one page of the list, 8 MB. */
const PAGE_BYTES = 8 * 1_048_576

export const renderRequest = z.strictObject({ template_data: templateData.default({}) }).meta({ id: 'RenderRequest' })
const renderedTemplate = z
  .strictObject({ subject: z.string(), html: z.string().nullable(), text: z.string().nullable() })
  .meta({ id: 'RenderedTemplate' })

const tag = 'Templates'
const sizeNote = `HTML and text have at most ${MAX_TEMPLATE_BYTES} bytes together, and variables stand in at most ${MAX_PLACES} places of each.`

export function templateRoutes(deps: TemplateRouteDeps): readonly Route[] {
  return [createRoute(deps), listRoute(deps), getRoute(deps), patchRoute(deps), removeRoute(deps), renderRoute(deps)]
}

function createRoute(deps: TemplateRouteDeps): Route {
  return route({
    method: 'POST',
    path: '/templates',
    area: 'write',
    tag,
    summary: 'Create a template',
    description: sizeNote,
    body: templateRequest,
    maxBody: MAX_TEMPLATE_BODY,
    answers: { 201: { description: 'The template.', schema: createdTemplate } },
    refusals: ['conflict'],
    run: async ({ principal: { workspaceId }, body, now }) => {
      const { html = null, blocks = null } = await compileSource(deps.composing, workspaceId, body)
      const content = { ...body, html, blocks }
      return json(201, toCreatedTemplate(await createTemplate(deps, workspaceId, content, now)))
    },
  })
}

function listRoute({ read }: TemplateRouteDeps): Route {
  return route({
    method: 'GET',
    path: '/templates',
    area: 'read',
    tag,
    summary: 'List the templates, newest first',
    description: `After the first ${PAGE_BYTES} bytes of bodies \`html\`, \`text\` and \`blocks\` are null: read these templates by id.`,
    query: sliceAfterQuery,
    answers: { 200: { description: 'Some of them.', schema: listSchema(templateRecord) } },
    refusals: [],
    run: async ({ principal: { workspaceId }, query: { after: before = MAX_ID, limit, offset } }) => {
      let bytes = 0
      const rows = await selectTemplatePage(read, { workspaceId, before, limit: limit + 1, offset })
      const data = await stringifyList(rows.slice(0, limit), async (row) => {
        bytes += row.size
        const [bodies] = bytes > PAGE_BYTES ? [] : await selectTemplateBodies(read, { workspaceId, id: row.id })
        return toTemplateResource({ ...row, html: null, text: null, blocks: null, ...bodies })
      })
      return json(200, { object: 'list', data, has_more: rows.length > limit })
    },
  })
}

function getRoute({ read }: TemplateRouteDeps): Route {
  return route({
    method: 'GET',
    path: '/templates/:id',
    area: 'read',
    tag,
    summary: 'Show a template',
    answers: { 200: { description: 'The template.', schema: templateRecord } },
    refusals: ['template_not_found'],
    run: async (call) => {
      const place = await templateKeyOf(read, call)
      const [row] = await templateById(read, place)
      if (row === undefined) throw templateNotFound(place.id)
      return json(200, toTemplateResource(row))
    },
  })
}

/** Clients of Resend publish a template before they use it. Here every template is. */
export function publishTemplateRoute({ read }: Pick<Store, 'read'>): Route {
  return route({
    method: 'POST',
    path: '/templates/:id/publish',
    area: 'write',
    tag,
    summary: 'Find a template, which is published already',
    answers: {
      200: { description: 'It is there.', schema: z.strictObject({ object: z.literal('template'), id: uuid }) },
    },
    refusals: ['template_not_found'],
    run: async (call) => {
      const place = await templateKeyOf(read, call)
      if ((await templateById(read, place)).length === 0) throw templateNotFound(place.id)
      return json(200, { object: 'template', id: place.id })
    },
  })
}

function patchRoute(deps: TemplateRouteDeps): Route {
  return route({
    method: 'PATCH',
    path: '/templates/:id',
    area: 'write',
    tag,
    summary: 'Change a template',
    description: `Fields that are not given stay unchanged, and so do emails accepted before. ${sizeNote}`,
    body: templateChange,
    maxBody: MAX_TEMPLATE_BODY,
    answers: { 200: { description: 'The template.', schema: templateRecord } },
    refusals: ['template_not_found', 'conflict'],
    run: async (call) => {
      const place = await templateKeyOf(deps.read, call)
      const { if_updated_at: expected, ...change } = call.body
      const [known] = await templateById(deps.read, place)
      if (known === undefined) throw templateNotFound(place.id)
      checkUnchanged(known.updated_at, expected)
      const source = await compileSource(deps.composing, place.workspaceId, change)
      const row = await changeTemplate(deps, place, { ...change, ...source }, call.now, expected)
      deps.templates.forget(place.workspaceId, place.id)
      if (row === null) throw templateNotFound(place.id)
      return json(200, toTemplateResource(row))
    },
  })
}

function removeRoute({ read, commit, templates }: TemplateRouteDeps): Route {
  return route({
    method: 'DELETE',
    path: '/templates/:id',
    area: 'write',
    tag,
    summary: 'Delete a template',
    description: 'Emails accepted before are still delivered.',
    answers: { 200: { description: 'It is gone.', schema: goneSchema('template', uuid) } },
    refusals: ['template_not_found'],
    run: async (call) => {
      const place = await templateKeyOf(read, call)
      const removed = await tryCommit(commit([removeTemplate(place)]))
      templates.forget(place.workspaceId, place.id)
      if (!removed) throw templateNotFound(place.id)
      return json(200, { object: 'template', deleted: true, id: place.id })
    },
  })
}

function renderRoute({ read, templates, sampleUnsubscribeUrl: unsubscribeUrl, composing }: TemplateRouteDeps): Route {
  return route({
    method: 'POST',
    path: '/templates/:id/render',
    area: 'read',
    tag,
    summary: 'Render a template with these values',
    description: 'Nothing is sent.',
    body: renderRequest,
    maxBody: MAX_TEMPLATE_BODY,
    answers: { 200: { description: 'Subject and bodies.', schema: renderedTemplate } },
    refusals: ['template_not_found', 'invalid_template_variables'],
    run: async (call) => {
      const { workspaceId, id } = await templateKeyOf(read, call)
      const template = await templates.find(workspaceId, id)
      if (template === undefined) throw templateNotFound(id)
      const { template_data: data } = call.body
      const small = renderSmallTemplate(template, data, unsubscribeUrl)
      if (small !== null) return json(200, small)
      const job = { template, data, unsubscribeUrl, form: 'json' } as const
      const { subject, html, text } = await composing.renderInTurn(workspaceId, job)
      return json(200, { subject, html: html && new JsonText(html), text: text && new JsonText(text) })
    },
  })
}

/** The path may have the alias of a template in place of its id. */
async function templateKeyOf(
  read: Read,
  { principal: { workspaceId }, params: { id = '' } }: Call<unknown, unknown>,
): Promise<{ readonly workspaceId: string; readonly id: string }> {
  const [named] = uuidForm.test(id) ? [] : await templateIdByAlias(read, { workspaceId, alias: id })
  return { workspaceId, id: named?.id ?? id }
}

const uuidForm = /^[0-9a-f]{8}-[0-9a-f-]{27}$/

function templateNotFound(id: string): Refusal {
  return notFound('template-not-found', 'template', id)
}
