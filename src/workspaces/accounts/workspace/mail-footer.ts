/** The language and the postal address of a workspace, which recipients read in the footer of broadcasts. */
import type { Language } from '../../../base/mail/language.js'
import { prepareRead, prepareWrite, type Read } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'

export interface MailFooter {
  readonly language: Language
  /** One line or several. Null if there is none. */
  readonly postalAddress: string | null
}

const footerOf = prepareRead<{ id: string }>()(({ db, slot }) =>
  db.selectFrom('workspaces').select(['language', 'postal_address']).where('id', '=', slot('id')),
)

/** In English and without an address if the workspace was deleted. */
export async function readMailFooter(read: Read, workspaceId: string): Promise<MailFooter> {
  const [row] = await footerOf(read, { id: workspaceId })
  return { language: row?.language ?? 'en', postalAddress: row?.postal_address ?? null }
}

const setLanguage = prepareWrite<{ id: string; language: Language }>(
  ({ db, slot }) =>
    db
      .updateTable('workspaces')
      .set({ language: slot('language') })
      .where('id', '=', slot('id')),
  1,
)

const setPostalAddress = prepareWrite<{ id: string; postalAddress: string | null }>(
  ({ db, slot }) =>
    db
      .updateTable('workspaces')
      .set({ postal_address: slot('postalAddress') })
      .where('id', '=', slot('id')),
  1,
)

type MailFooterChange = { readonly [Field in keyof MailFooter]?: MailFooter[Field] | undefined }

/** Undefined fields stay unchanged. Each write misses when the workspace is deleted. */
export function changeMailFooter(id: string, { language, postalAddress }: MailFooterChange): Write[] {
  return [
    ...(language === undefined ? [] : [setLanguage({ id, language })]),
    ...(postalAddress === undefined ? [] : [setPostalAddress({ id, postalAddress })]),
  ]
}
