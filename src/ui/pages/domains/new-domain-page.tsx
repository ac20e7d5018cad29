/** Adds a domain. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { toFieldError } from '../../api/api-error.ts'
import { api, unwrap } from '../../api/client.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Button, ButtonLink } from '../../components/button.tsx'
import { CheckField, TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readFlag, readText } from '../../components/form-values.ts'
import { Page } from '../../components/page.tsx'
import { readTypedDomain } from './domain-name.ts'

export function NewDomainPage(): VNode {
  const [, navigate] = useLocation()
  const [typed, setTyped] = useState('')
  /** Shows a domain that the page proposes in the field. */
  const [proposed, setProposed] = useState('')
  const { proposal } = readTypedDomain(typed)
  const add = async (values: FormData): Promise<void> => {
    const domain = readText(values, 'domain')
    const { proposal, isAddress } = readTypedDomain(domain)
    if (isAddress && proposal !== null) {
      throw toFieldError('domain', `This is an address, and Posthorn needs its domain. Did you mean ${proposal}?`)
    }
    const body = { domain, inbound: readFlag(values, 'inbound') }
    const { id } = await unwrap(api.POST('/v1/domains', { body }))
    navigate(`/domains/${id}`)
  }
  const use = (domain: string): void => {
    setProposed(domain)
    setTyped(domain)
  }
  return (
    <Page title="Add a domain" up={{ href: '/domains', label: 'Domains' }}>
      <Form onSubmit={add}>
        <TextField
          key={proposed}
          value={proposed}
          takesFocus={proposed !== ''}
          onInput={setTyped}
          name="domain"
          label="Domain"
          placeholder="example.com"
          inputMode="url"
          hint="The part of your sender addresses after the @. You can use a subdomain, such as news.example.com."
        />
        {proposal === null ? null : <Proposal domain={proposal} onUse={use} />}
        <CheckField
          name="inbound"
          label="Receive mail for this domain"
          hint="This needs an MX record too. You can turn it on later."
        />
        <FormActions>
          <SubmitButton>Add the domain</SubmitButton>
          <ButtonLink href="/domains" tone="quiet">
            Cancel
          </ButtonLink>
        </FormActions>
      </Form>
    </Page>
  )
}

interface ProposalProps {
  readonly domain: string
  readonly onUse: (domain: string) => void
}

function Proposal({ domain, onUse }: ProposalProps): VNode {
  return (
    <p class="form-actions" role="status">
      <span>
        Did you mean <strong>{allowBreaks(domain)}</strong>?
      </span>
      <Button small onClick={() => onUse(domain)}>
        Use {domain}
      </Button>
    </p>
  )
}
