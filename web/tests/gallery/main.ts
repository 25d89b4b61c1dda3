// Every built-in component with made-up properties, in both themes, wide and narrow: `npm run dev`, then /tests/gallery/index.html?name=chart. Not in
// what is built.

import { mount } from 'svelte'
import '../../src/app.css'
import Gallery from './Gallery.svelte'

const target = document.getElementById('app')
if (target) mount(Gallery, { target })
