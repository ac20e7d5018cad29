/** All contacts of the workspace. */
import type { VNode } from 'preact'
import { ButtonLink } from '../../components/button.tsx'
import { Page } from '../../components/page.tsx'
import { ContactList } from './contact-list.tsx'

export function ContactListPage(): VNode {
  return (
    <Page
      title="Contacts"
      intro="The contacts of all audiences. An address can be in several audiences, as one contact in each."
      actions={
        <ButtonLink href="/contacts/new" tone="primary">
          Add a contact
        </ButtonLink>
      }
    >
      <ContactList audienceId={null} />
    </Page>
  )
}
