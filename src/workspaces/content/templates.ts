/** The records of templates. `change-template.ts` has their limits. */
import { prepareRead, prepareWrite } from '../../base/storage/db/prepared.js'
import type { Tables } from '../../base/storage/tables/tables.js'

export type Template = Tables['templates']

/** Templates of a workspace. */
export const MAX_TEMPLATES = 10_000

export const insertTemplate = prepareWrite<Template>(({ db, slot }) =>
  db.insertInto('templates').values({
    id: slot('id'),
    workspace_id: slot('workspace_id'),
    name: slot('name'),
    alias: slot('alias'),
    subject: slot('subject'),
    html: slot('html'),
    text: slot('text'),
    blocks: slot('blocks'),
    listed_variables: slot('listed_variables'),
    variables: slot('variables'),
    size: slot('size'),
    version: slot('version'),
    created_at: slot('created_at'),
    updated_at: slot('updated_at'),
  }),
)

/** Misses when the template was deleted, or changed after `before` was read. */
export const updateTemplate = prepareWrite<Omit<Template, 'created_at'> & { before: number }>(
  ({ db, slot }) =>
    db
      .updateTable('templates')
      .set({
        name: slot('name'),
        alias: slot('alias'),
        subject: slot('subject'),
        html: slot('html'),
        text: slot('text'),
        blocks: slot('blocks'),
        listed_variables: slot('listed_variables'),
        variables: slot('variables'),
        size: slot('size'),
        version: slot('version'),
        updated_at: slot('updated_at'),
      })
      .where('workspace_id', '=', slot('workspace_id'))
      .where('id', '=', slot('id'))
      .where('version', '=', slot('before')),
  1,
)

/** Misses when there is no such template in the workspace. */
export const removeTemplate = prepareWrite<{ workspaceId: string; id: string }>(
  ({ db, slot }) =>
    db.deleteFrom('templates').where('workspace_id', '=', slot('workspaceId')).where('id', '=', slot('id')),
  1,
)

export const templateById = prepareRead<{ workspaceId: string; id: string }>()(({ db, slot }) =>
  db.selectFrom('templates').selectAll().where('workspace_id', '=', slot('workspaceId')).where('id', '=', slot('id')),
)

export const templateIdByAlias = prepareRead<{ workspaceId: string; alias: string }>()(({ db, slot }) =>
  db
    .selectFrom('templates')
    .select('id')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('alias', '=', slot('alias')),
)

/**
 * A page of templates, newest first. It has sizes instead of bodies, because the caller reads the bodies one by one,
 * up to the size of an answer.
 */
export const selectTemplatePage = prepareRead<{ workspaceId: string; before: string; limit: number; offset: number }>()(
  ({ db, slot }) =>
    db
      .selectFrom('templates')
      .select(['id', 'name', 'alias', 'subject', 'variables', 'size', 'created_at', 'updated_at'])
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '<', slot('before'))
      .orderBy('id', 'desc')
      .limit(slot('limit'))
      .offset(slot('offset')),
)

export const selectTemplateBodies = prepareRead<{ workspaceId: string; id: string }>()(({ db, slot }) =>
  db
    .selectFrom('templates')
    .select(['html', 'text', 'blocks'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('id', '=', slot('id')),
)

export const countTemplates = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('templates')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('workspace_id', '=', slot('workspaceId')),
)
