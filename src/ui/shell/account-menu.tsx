/**
 * A button with the name of the user that opens a menu: account, documentation, color scheme, sign-out. The arrow keys,
 * Home and End walk through the menu. Escape and Tab close it.
 */
import type { RefObject, VNode } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { asApiError } from '../api/api-error.ts'
import { sessionInfo } from '../api/session-state.ts'
import { notify } from '../components/notices.tsx'
import { toWords } from '../components/values.tsx'
import { signOut } from '../session/sign-in.ts'
import { chooseTheme, theme, themes } from './theme.ts'

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone

export function AccountMenu(): VNode {
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  const element = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const firstItem = useRef<Place>('first')
  const leaving = useLeaving()
  const close = (): void => setOpen(false)
  useClosing(isOpen, close, { menu: element, button })
  useEffect(() => {
    if (isOpen)
      listItems(element)
        .at(firstItem.current === 'first' ? 0 : -1)
        ?.focus()
  }, [isOpen])
  const open = (item: Place): void => {
    firstItem.current = item
    setOpen(true)
  }
  const act = (event: KeyboardEvent): void => {
    if (event.key === 'Tab') close()
    else walk(event, listItems(element))
  }
  return (
    <div ref={element} class="account-menu">
      {isOpen ? <MenuContent id={id} onKeyDown={act} {...leaving} /> : null}
      <MenuButton element={button} menuId={id} isOpen={isOpen} onOpen={open} onClose={close} />
    </div>
  )
}

type Place = 'first' | 'last'

interface MenuButtonProps {
  readonly element: RefObject<HTMLButtonElement>
  readonly menuId: string
  readonly isOpen: boolean
  /** The item gets the focus. */
  readonly onOpen: (item: Place) => void
  readonly onClose: () => void
}

function MenuButton({ element, menuId, isOpen, onOpen, onClose }: MenuButtonProps): VNode {
  const openByKey = (event: KeyboardEvent): void => {
    const item = openingKeys[event.key]
    if (item === undefined) return
    event.preventDefault()
    onOpen(item)
  }
  return (
    <button
      ref={element}
      type="button"
      class="account-button"
      aria-haspopup="menu"
      aria-expanded={isOpen}
      aria-controls={isOpen ? menuId : undefined}
      onClick={() => (isOpen ? onClose() : onOpen('first'))}
      onKeyDown={openByKey}
    >
      <UserName />
    </button>
  )
}

/** Keys of the closed menu, with the item that gets the focus. */
const openingKeys: Readonly<Record<string, Place>> = { ArrowDown: 'first', ArrowUp: 'last' }

function UserName(): VNode {
  const { user } = sessionInfo.value ?? {}
  return (
    <>
      <span class="visually-hidden">Account: </span>
      <span class="user-name" title={user?.email}>
        {user?.full_name || user?.email}
      </span>
    </>
  )
}

function listItems(menu: RefObject<HTMLElement>): readonly HTMLElement[] {
  return [...(menu.current?.querySelectorAll<HTMLElement>('[role^="menuitem"]') ?? [])]
}

/** Moves the focus within the menu, around its ends too. Items that lie side by side are also reached sideways. */
function walk(event: KeyboardEvent, items: readonly HTMLElement[]): void {
  const focused = document.activeElement
  const at = focused instanceof HTMLElement ? items.indexOf(focused) : -1
  const next = (at + 1) % items.length
  const previous = (Math.max(at, 0) - 1 + items.length) % items.length
  const isInRow = focused?.getAttribute('role') === 'menuitemradio'
  const places: Readonly<Record<string, number>> = {
    ArrowDown: next,
    ArrowUp: previous,
    ...(isInRow ? { ArrowRight: next, ArrowLeft: previous } : {}),
    Home: 0,
    End: items.length - 1,
  }
  const place = places[event.key]
  if (place === undefined) return
  event.preventDefault()
  items[place]?.focus()
}

interface MenuPlaces {
  readonly menu: RefObject<HTMLElement>
  readonly button: RefObject<HTMLButtonElement>
}

/** Closes the open menu at a click or focus elsewhere, and at Escape, which gives the focus back to the button. */
function useClosing(isOpen: boolean, close: () => void, { menu, button }: MenuPlaces): void {
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
      document.removeEventListener('keydown', closeByKey)
      for (const event of events) document.removeEventListener(event, closeOutside)
    }
  }, [isOpen])
}

interface Leaving {
  readonly isLeaving: boolean
  readonly leave: () => void
}

/** Signs out once. It waits also while the menu is closed and opened again. */
function useLeaving(): Leaving {
  const [isLeaving, setLeaving] = useState(false)
  const leave = (): void => {
    if (isLeaving) return
    setLeaving(true)
    signOut()
      .catch((error: unknown) => notify(asApiError(error).message, 'bad'))
      .finally(() => setLeaving(false))
  }
  return { isLeaving, leave }
}

interface ContentProps extends Leaving {
  readonly id: string
  readonly onKeyDown: (event: KeyboardEvent) => void
}

function MenuContent({ id, onKeyDown, isLeaving, leave }: ContentProps): VNode {
  const { user, service } = sessionInfo.value ?? {}
  return (
    <div class="account-content">
      <p class="account-email">{user?.email}</p>
      <div id={id} role="menu" tabIndex={-1} aria-label="Account" onKeyDown={onKeyDown}>
        <Link href="/account" role="menuitem" tabIndex={-1}>
          Account
        </Link>
        <Link href="/help" role="menuitem" tabIndex={-1}>
          Documentation
        </Link>
        <a href="/ui/docs" role="menuitem" tabIndex={-1}>
          Reference of the REST API
        </a>
        <ThemeChoice />
        <button
          type="button"
          role="menuitem"
          tabIndex={-1}
          aria-busy={isLeaving}
          aria-disabled={isLeaving}
          onClick={leave}
        >
          {isLeaving ? 'Signing out …' : 'Sign out'}
        </button>
      </div>
      <p class="version">
        {service?.hostname} · {service?.version}
        <br />
        Times in {zone}
      </p>
    </div>
  )
}

function ThemeChoice(): VNode {
  const id = useId()
  return (
    // biome-ignore lint/a11y/useSemanticElements: a menu may have a group, and no fieldset.
    <div role="group" aria-labelledby={id} class="theme-choice">
      <span id={id} role="presentation" class="theme-label">
        Color scheme
      </span>
      {themes.map((one) => (
        <button
          key={one}
          type="button"
          role="menuitemradio"
          tabIndex={-1}
          aria-checked={theme.value === one}
          onClick={() => chooseTheme(one)}
        >
          {toWords(one)}
        </button>
      ))}
    </div>
  )
}
