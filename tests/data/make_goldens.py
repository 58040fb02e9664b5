#!/usr/bin/env python3
"""Make every golden file in this folder again. README.md lists their content and the versions needed."""

import make_architecture_edges
import make_architectures
import make_forward
import make_gradient
import make_hub
import make_models
import make_multihead
import make_ops
import make_paths
import make_tasks

if __name__ == "__main__":
    make_models.main()
    make_forward.main()
    make_multihead.main()
    make_gradient.main()
    make_ops.main()
    make_hub.main()
    make_tasks.main()
    make_paths.main()
    make_architectures.main()
    make_architecture_edges.main()
