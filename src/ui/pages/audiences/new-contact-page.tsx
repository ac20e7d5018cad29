/** Adds a contact. */
import type { VNode } from 'preact'
import { useLocation, useSearchParams } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { ButtonLink } from '../../components/button.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Page } from '../../components/page.tsx'
import { loadAllAudiences } from './audience.ts'
import { ContactFields, readContact } from './contact-fields.tsx'

export function NewContactPage(): VNode {
  const [, navigate] = useLocation()
  const [search] = useSearchParams()
  const audienceId = search.get('audience')
  const audiences = useLoad(loadAllAudiences)
  const audience = audiences.data?.find(({ id }) => id === audienceId)
  const up =
    audience === undefined
      ? { href: '/contacts', label: 'Contacts' }
      : { href: `/audiences/${audience.id}`, label: audience.name }
  const add = async (values: FormData): Promise<void> => {
    const { email } = await unwrap(api.POST('/v1/contacts', { body: readContact(values) }))
    notify(`${email} is added.`)
    navigate(up.href)
  }
  return (
    <Page title="Add a contact" up={up}>
      <Loaded from={audiences}>
        {(all) => (
          <Form onSubmit={add}>
            <ContactFields audiences={all} audienceId={audienceId} />
            <FormActions>
              <SubmitButton>Add the contact</SubmitButton>
              <ButtonLink href={up.href} tone="quiet">
                Cancel
              </ButtonLink>
            </FormActions>
          </Form>
        )}
      </Loaded>
    </Page>
  )
}
