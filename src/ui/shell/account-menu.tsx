/** A button with the name of the user that opens their links: account, documentation, sign-out. */
import type { RefObject, VNode } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { sessionInfo } from '../api/session-state.ts'
import { Button } from '../components/button.tsx'
import { signOut } from '../session/sign-in.ts'

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone

export function AccountMenu(): VNode {
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  const element = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const { user } = sessionInfo.value ?? {}
  const close = (): void => setOpen(false)
  useClosing(isOpen, close, element, button)
  return (
    <div ref={element} class="account-menu">
      {isOpen ? <MenuContent id={id} /> : null}
      <button
        ref={button}
        type="button"
        class="account-button"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={() => setOpen(!isOpen)}
      >
        <span class="visually-hidden">Account: </span>
        <span class="user-name" title={user?.email}>
          {user?.full_name || user?.email}
        </span>
      </button>
    </div>
  )
}

/** Closes the open menu at a click or focus elsewhere, and at Escape, which gives the focus back to the button. */
function useClosing(
  isOpen: boolean,
  close: () => void,
  menu: RefObject<HTMLElement>,
  button: RefObject<HTMLButtonElement>,
): void {
  useEffect(() => {
    if (!isOpen) return
    const closeOutside = ({ target }: Event): void => {
      if (target instanceof Node && menu.current?.contains(target) === false) close()
    }
    const closeByKey = ({ key }: KeyboardEvent): void => {
      if (key !== 'Escape') return
      close()
      button.current?.focus()
    }
    const events = ['pointerdown', 'focusin'] as const
    for (const event of events) document.addEventListener(event, closeOutside)
    document.addEventListener('keydown', closeByKey)
    return () => {
      for (const event of events) document.removeEventListener(event, closeOutside)
      document.removeEventListener('keydown', closeByKey)
    }
  }, [isOpen])
}

function MenuContent({ id }: { readonly id: string }): VNode {
  const { user, service } = sessionInfo.value ?? {}
  return (
    <div id={id} class="account-content">
      <p class="account-email">{user?.email}</p>
      <ul>
        <li>
          <Link href="/account">Account</Link>
        </li>
        <li>
          <Link href="/help">Documentation</Link>
        </li>
        <li>
          <a href="/ui/docs">Reference of the REST API</a>
        </li>
        <li>
          <Button onClick={signOut}>Sign out</Button>
        </li>
      </ul>
      <p class="version">
        {service?.hostname} · {service?.version}
        <br />
        Times in {zone}
      </p>
    </div>
  )
}
