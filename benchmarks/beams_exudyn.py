"""Exudyn with geometrically exact beams: two-node elements with six coordinates per node."""

import os
import tempfile
from time import perf_counter

import exudyn
import numpy as np
from exudyn import itemInterface as items
from exudyn.rigidBodyUtilities import RotationMatrix2RotXYZ

from benchmarks.chopped import Lump, merged
from flex_robot_sim.spatial.exponential import set_rotation

exudyn.config.printToConsole = False

SHEAR_OVER_STRETCH = 1 / 2.6  # of the stiffness of a beam; the other libraries neglect both
# a little inertia at the roots of the beams, so that the sudden start converges; 1e-4 of the arm's
ROOT = Lump(1e-6, np.zeros(3), 2e-5 * np.eye(3))


class Arm:
    """A system of Exudyn, straight in its links and at rest."""

    def __init__(self, description, elements, servos, gravity):
        """
        Build it.

        :param elements: in each flexible link.
        :param servos: joint -> (stiffness, damping, target, start).
        """
        self._gravity, self._elements = list(gravity), elements
        self._container = exudyn.SystemContainer()
        self.system = self._container.AddSystem()
        self._lumps, self._pose, self._bodies = {}, {}, {}  # by node
        hinges = []
        base = self.system.AddNode(items.NodePointGround())
        self._pose[base] = np.eye(3), np.zeros(3)
        root = description.links[0].name
        seats = {root: (base, np.eye(3), np.zeros(3))}
        for link, joint in zip(description.links[1:], description.joints):
            node, R, p = seats[joint.parent]
            p, R = p + R @ joint.position, R @ joint.rotation
            if joint.moves:
                axis = R @ joint.axis
                stiffness, damping, target, start = servos[joint.name]
                turn = np.empty((3, 3))
                set_rotation(joint.axis * start, turn)
                R = R @ turn
                child = self._add_node(R if link.beam is None else R @ link.beam.axes, p)
                if link.beam is not None:
                    self._lumps[child] = [ROOT]
                hinges.append(
                    (
                        node,
                        child,
                        p,
                        axis,
                        stiffness,
                        damping + joint.friction.viscous_friction,
                        target - start,
                    )
                )
                node = child
            seats[link.name] = node, R, p
            if link.beam is not None:
                seats[link.name] = self._add_beam(link.beam, node, R, p), R, p
            elif link.inertial is not None and node != base:
                R0, p0 = self._pose[node]
                body = link.inertial
                self._lumps.setdefault(node, []).append(
                    Lump(
                        body.mass,
                        R0.T @ (R @ body.centre + p - p0),
                        R0.T @ R @ body.inertia @ R.T @ R0,
                    )
                )
        for node, lumps in self._lumps.items():
            self._add_rigid_body(node, merged(lumps))
        for hinge in hinges:
            self._add_hinge(*hinge)
        self._tool, _, p = seats['tool']
        R0, p0 = self._pose[self._tool]
        self._offset = R0.T @ (p - p0)
        assert np.linalg.norm(self._offset) < 1e-9  # the path is that of the node
        self._sensor = self.system.AddSensor(
            items.SensorNode(
                nodeNumber=self._tool,
                outputVariableType=exudyn.OutputVariableType.Position,
                storeInternal=True,
                writeToFile=False,
            )
        )
        self.system.Assemble()

    def _add_node(self, R, p):
        node = self.system.AddNode(
            items.NodeRigidBodyRxyz(referenceCoordinates=[*p, *RotationMatrix2RotXYZ(R)])
        )
        self._pose[node] = R, p
        return node

    def _add_hinge(self, parent, child, p, axis, stiffness, damping, offset):
        markers = []
        for node in (parent, child):
            R0, p0 = self._pose[node]
            turn, point = R0.T @ _axis_frame(axis), R0.T @ (p - p0)
            markers.append(
                self.system.AddMarker(
                    items.MarkerBodyRigid(
                        bodyNumber=self._bodies[node],
                        localHT=exudyn.HT(rotation=turn, translation=point),
                    )
                    if node in self._bodies
                    # a hinge away from its node needs a body
                    else items.MarkerNodeRigid(nodeNumber=node, localHT=exudyn.HT(rotation=turn))
                )
            )
        self.system.AddObject(items.ObjectJointRevoluteZ(markerNumbers=markers))
        self.system.AddObject(
            items.ObjectConnectorTorsionalSpringDamper(
                markerNumbers=markers, stiffness=stiffness, damping=damping, offset=offset
            )
        )

    def _add_beam(self, beam, node, R, p):
        section = exudyn.BeamSection()
        shear = beam.EA * SHEAR_OVER_STRETCH
        section.stiffnessMatrix = np.diag([beam.EA, shear, shear, beam.GJ, beam.EIy, beam.EIz])
        section.inertia = np.diag(beam.section_inertia)
        section.massPerLength = beam.mass_per_length
        part, axes = beam.length / self._elements, R @ beam.axes
        for k in range(1, self._elements + 1):
            following = self._add_node(axes, p + axes[:, 0] * part * k)
            element = self.system.AddObject(
                items.ObjectBeamGeometricallyExact(
                    nodeNumbers=[node, following], length=part, sectionData=section
                )
            )
            self._pull_down(element)
            node = following
        return node

    def _add_rigid_body(self, node, lump):
        c, mass = lump.centre, lump.mass
        J = lump.inertia + mass * (c @ c * np.eye(3) - np.outer(c, c))
        self._bodies[node] = self.system.AddObject(
            items.ObjectRigidBody(
                nodeNumber=node,
                mass=mass,
                centerOfMass=list(c),
                inertia=[J[0, 0], J[1, 1], J[2, 2], J[1, 2], J[0, 2], J[0, 1]],
            )
        )
        self._pull_down(self._bodies[node])

    def _pull_down(self, body):
        self.system.AddLoad(
            items.LoadMassProportional(
                markerNumber=self.system.AddMarker(items.MarkerBodyMass(bodyNumber=body)),
                loadVector=self._gravity,
            )
        )

    def swing(self, steps, end, samples):
        """
        Return the path of the tool, (samples + 1, 3) [m], and the wall time [s]; only once.

        A step that does not converge ends the run: the path is nan then.
        """
        settings = exudyn.SimulationSettings()
        time = settings.timeIntegration
        time.endTime, time.numberOfSteps = end, steps * samples
        time.newton.useModifiedNewton = True
        time.adaptiveStep = False
        time.verboseMode = 0
        # the forms with index 3 do not converge after the sudden start
        time.generalizedAlpha.useIndex2Constraints = True
        time.generalizedAlpha.useNewmark = True
        settings.linearSolver.solverType = exudyn.LinearSolverType.EigenSparse
        settings.solution.file.write = False
        settings.solution.sensors.writePeriod = end / samples
        with tempfile.TemporaryDirectory() as folder:
            settings.solution.solverInformationFileName = os.path.join(folder, 'solver.txt')
            started = perf_counter()
            try:
                self.system.SolveDynamic(settings)
            except exudyn.SolverError:
                return np.full((samples + 1, 3), np.nan), np.nan
            wall = perf_counter() - started
        return self.system.GetSensorStoredData(self._sensor)[:, 1:4], wall


def _axis_frame(axis):
    """Return a rotation (3, 3) whose z axis is `axis` (3,)."""
    x = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])
