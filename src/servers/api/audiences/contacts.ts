/**
 * The routes of single contacts: add, list, show, change, delete. Operations on many are in `bulk-contacts.ts`, files
 * in `audience-files.ts`.
 *
 * With `page` or `per_page` the list has totals, otherwise it takes `limit` and `offset`. A page after the last is
 * empty, not an error.
 */
import { z } from 'zod'
import { tryParseForeignAddress } from '../../../base/mail/address.js'
import type { Refusal } from '../../../base/mail/refusal.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { tryCommit } from '../../../base/storage/db/write.js'
import { createHintFinder } from '../../../workspaces/audiences/address-hints.js'
import { requireAudience } from '../../../workspaces/audiences/audiences.js'
import { countContacts, findContactIds, listContacts } from '../../../workspaces/audiences/contact-list.js'
import { type Contact, contactById, removeContact } from '../../../workspaces/audiences/contacts.js'
import { addContact, updateContact } from '../../../workspaces/audiences/put-contact.js'
import { json } from '../http/answer.js'
import {
  checkListForm,
  listQueryFields,
  listSchema,
  numberedPageSchema,
  sliceOf,
  toListRequest,
  withNext,
} from '../http/input/paging.js'
import { addressInQuery, notFound, uuid } from '../http/input/values.js'
import { type Call, type Route, route } from '../http/route/route.js'
import {
  audienceId,
  contact,
  createdContact,
  toContactList,
  toContactResource,
  toCreatedContact,
} from './contact-fields.js'
import { contactChange, contactRequest, toContactChange, toNewContact } from './contact-requests.js'

const DEFAULT_LIMIT = 50

const listQuery = z
  .strictObject({
    ...listQueryFields(DEFAULT_LIMIT),
    audience_id: audienceId.optional().meta({ description: 'Only contacts of this audience.' }),
    email: addressInQuery.optional().meta({ description: 'Only contacts with this address.' }),
  })
  .superRefine(checkListForm)

/** Clients of Resend read the last three. */
const removedContact = z.strictObject({
  success: z.literal(true),
  data: z.strictObject({ id: uuid }),
  object: z.literal('contact'),
  deleted: z.literal(true),
  contact: uuid,
})

const tag = 'Contacts'

export function contactRoutes(deps: Store): readonly Route[] {
  return [addRoute(deps), listRoute(deps), getRoute(deps), patchRoute(deps), removeRoute(deps)]
}

/** The routes for contacts of the audience that the path names, for clients of Resend. */
export function audienceContactRoutes(deps: Store): readonly Route[] {
  const params = { audience: 'The id of an audience.', id: 'The id of a contact, or its address.' }
  return ['/audiences/:audience', '/segments/:audience'].flatMap((base) =>
    contactRoutes(deps).map((one) => ({ ...one, path: `${base}${one.path}`, params })),
  )
}

function addRoute(deps: Store): Route {
  return route({
    method: 'POST',
    path: '/contacts',
    area: 'write',
    tag,
    summary: 'Add a contact',
    description:
      'An address is once in an audience, and once among the contacts without an audience, compared without case.',
    body: contactRequest,
    answers: { 201: { description: 'The contact.', schema: createdContact } },
    refusals: ['invalid_email_address', 'audience_not_found', 'conflict'],
    run: async ({ principal: { workspaceId }, params, body, now }) => {
      const { audience_id: audienceId, ...given } = toNewContact(body)
      const requested = { ...given, audience_id: params['audience'] ?? audienceId }
      const added = toCreatedContact(await addContact(deps, workspaceId, requested, now))
      const hints = (await createHintFinder())(body.email)
      return json(201, hints.length === 0 ? added : { ...added, hints })
    },
  })
}

function listRoute({ read }: Store): Route {
  return route({
    method: 'GET',
    path: '/contacts',
    area: 'read',
    tag,
    summary: 'List contacts, newest first',
    description: 'With `page` or `per_page` the answer has `success` and `meta`; otherwise `limit` and `offset` count.',
    query: listQuery,
    answers: {
      200: {
        description: 'Some of them.',
        schema: z.union([listSchema(contact), numberedPageSchema(contact)]),
      },
    },
    refusals: ['invalid_email_address', 'audience_not_found'],
    run: async ({ principal: { workspaceId }, params, query: { audience_id: given = null, email, ...place } }) => {
      const audienceId = params['audience'] ?? given
      if (audienceId !== null) await requireAudience(read, workspaceId, audienceId)
      const filter = { workspaceId, audienceId }
      const { slice, metaOf } = toListRequest(place, DEFAULT_LIMIT)
      const named = email === undefined ? null : await findContactIds(read, filter, email)
      const rows =
        named === null
          ? await listContacts(read, filter, withNext(slice))
          : (
              await Promise.all(
                sliceOf(named, withNext(slice)).map(async (id) => (await contactById(read, workspaceId, id)) ?? []),
              )
            ).flat()
      const data = await toContactList(rows.slice(0, slice.limit))
      if (metaOf === null) return json(200, { object: 'list', data, has_more: rows.length > slice.limit })
      return json(200, { success: true, data, meta: metaOf(named?.length ?? (await countContacts(read, filter))) })
    },
  })
}

function getRoute({ read }: Store): Route {
  return route({
    method: 'GET',
    path: '/contacts/:id',
    area: 'read',
    tag,
    summary: 'Show a contact',
    answers: { 200: { description: 'The contact.', schema: contact } },
    refusals: ['contact_not_found'],
    run: async (call) => json(200, toContactResource(await contactOfCall(read, call))),
  })
}

function patchRoute(deps: Store): Route {
  return route({
    method: 'PATCH',
    path: '/contacts/:id',
    area: 'write',
    tag,
    summary: 'Change a contact',
    description: 'Fields that are not given stay unchanged. Null removes a name, or the contact from its audience.',
    body: contactChange,
    answers: { 200: { description: 'The contact.', schema: contact } },
    refusals: ['invalid_email_address', 'contact_not_found', 'audience_not_found', 'conflict'],
    run: async (call) => {
      const { workspace_id: workspaceId, id } = await contactOfCall(deps.read, call)
      const row = await updateContact(deps, { workspaceId, id }, toContactChange(call.body), call.now)
      if (row === undefined) throw contactNotFound(id)
      return json(200, toContactResource(row))
    },
  })
}

function removeRoute({ read, commit }: Store): Route {
  return route({
    method: 'DELETE',
    path: '/contacts/:id',
    area: 'write',
    tag,
    summary: 'Delete a contact permanently',
    answers: {
      200: {
        description: 'It is gone.',
        schema: removedContact,
      },
    },
    refusals: ['contact_not_found'],
    run: async (call) => {
      const { id, workspace_id: workspaceId } = await contactOfCall(read, call)
      if (!(await tryCommit(commit([removeContact({ workspaceId, id })])))) throw contactNotFound(id)
      return json(200, { success: true, data: { id }, object: 'contact', deleted: true, contact: id })
    },
  })
}

/** `id` may be an address: then it is the newest contact with it, of the audience if the path names one. */
async function contactOfCall(
  read: Read,
  { principal: { workspaceId }, params: { id = '', ...params } }: Call<unknown, unknown>,
): Promise<Contact> {
  const audience = params['audience'] ?? null
  const email = id.includes('@') ? tryParseForeignAddress(id) : null
  const found = email === null ? id : (await findContactIds(read, { workspaceId, audienceId: audience }, email))[0]
  const row = found === undefined ? undefined : await contactById(read, workspaceId, found)
  if (row !== undefined && audience !== null && row.audience_id !== audience) throw contactNotFound(id)
  if (row === undefined) throw contactNotFound(id)
  return row
}

function contactNotFound(id: string): Refusal {
  return notFound('contact-not-found', 'contact', id)
}
